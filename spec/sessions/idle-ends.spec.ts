/** How the ends of idle sessions are looked for. */
import { UnavailableError } from '../../lib/protocol/errors';
import { IdleEnds } from '../../lib/sessions/idle-ends';

describe('Ends of idle sessions', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  /** @param batches What the store finds: an error is thrown. */
  function look(batches: (string[] | Error)[], idleMs = 1_000_000) {
    const told: string[] = [];
    const errors: unknown[] = [];
    let looks = 0;
    const ends = new IdleEnds({
      shared: {
        async endIdle() {
          looks += 1;
          const batch = batches.shift() ?? [];
          if (batch instanceof Error) throw batch;
          return { ended: batch.map((id) => ({ id, principal: undefined })), more: batches.length > 0 };
        },
      },
      idleMs,
      onEnd: ({ id }) => told.push(id),
      onError: (error) => errors.push(error),
    });
    return { ends, told, errors, looks: () => looks };
  }

  it('are all told at once, however many batches they are', async () => {
    const { ends, told } = look([['a', 'b'], ['c'], ['d']]);
    await jest.advanceTimersByTimeAsync(10_000);
    expect(told).toEqual(['a', 'b', 'c', 'd']);
    ends.end();
  });

  it('leave other work its turn', async () => {
    const { ends, told, looks } = look(Array.from({ length: 60 }, (_, n) => [`${n}`]));
    await jest.advanceTimersByTimeAsync(10_000);
    expect([told.length, looks()]).toEqual([50, 50]);
    await jest.advanceTimersByTimeAsync(10_000);
    expect([told.length, looks()]).toEqual([60, 60]);
    ends.end();
  });

  it('are looked for again when the store is back, and no more after the end', async () => {
    const { ends, told, errors, looks } = look([new UnavailableError('away'), ['a']]);
    await jest.advanceTimersByTimeAsync(10_000);
    expect(told).toEqual([]);
    await jest.advanceTimersByTimeAsync(10_000);
    expect(told).toEqual(['a']);
    ends.end();
    await jest.advanceTimersByTimeAsync(30_000);
    expect(looks()).toBe(2);
    expect(errors).toEqual([]);
  });

  it('say what is wrong if that is not a store that is away, once until it works again', async () => {
    const [first, second] = [new TypeError('first'), new TypeError('second')];
    const batches: (string[] | Error)[] = [first, first, []];
    const { ends, errors } = look(batches);
    await jest.advanceTimersByTimeAsync(30_000);
    batches.push(second);
    await jest.advanceTimersByTimeAsync(10_000);
    expect(errors).toEqual([first, second]);
    ends.end();
  });

  it('are looked for more often where idle times are short', async () => {
    const { ends, looks } = look([], 400);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(looks()).toBe(10);
    ends.end();
  });
});
