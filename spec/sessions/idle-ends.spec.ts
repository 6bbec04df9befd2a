/** How the ends of idle sessions are looked for. */
import { IdleEnds } from '../../lib/sessions/idle-ends';

describe('Ends of idle sessions', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  /** @param batches What the store finds: an error is thrown. */
  function look(batches: (string[] | Error)[], idleMs = 1_000_000) {
    const told: string[] = [];
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
    });
    return { ends, told, looks: () => looks };
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
    const { ends, told, looks } = look([new Error('away'), ['a']]);
    await jest.advanceTimersByTimeAsync(10_000);
    expect(told).toEqual([]);
    await jest.advanceTimersByTimeAsync(10_000);
    expect(told).toEqual(['a']);
    ends.end();
    await jest.advanceTimersByTimeAsync(30_000);
    expect(looks()).toBe(2);
  });

  it('are looked for more often where idle times are short', async () => {
    const { ends, looks } = look([], 400);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(looks()).toBe(10);
    ends.end();
  });
});
