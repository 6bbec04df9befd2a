/** Work that is tried again. */
import { UnavailableError } from '../../lib/protocol/errors';
import { Loop } from '../../lib/sessions/loop';

describe('A loop', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  function create(step: () => Promise<void>, maxAttempts?: number) {
    const errors: unknown[] = [];
    const onGivenUp = jest.fn();
    const looks = jest.fn(step);
    const loop = new Loop(looks, { onError: (error) => errors.push(error), onGivenUp, maxAttempts });
    return { loop, looks, errors, onGivenUp };
  }

  it('does what is asked for meanwhile once more, however often it was asked for', async () => {
    const { loop, looks } = create(async () => undefined);
    for (let times = 0; times < 3; times += 1) loop.run();
    expect(loop.busy).toBe(true);
    await loop.idle;
    expect([loop.busy, looks.mock.calls.length]).toEqual([false, 2]);
  });

  it('leaves out nothing that is asked for as it comes to rest', async () => {
    for (let turns = 0; turns < 10; turns += 1) {
      const { loop, looks } = create(async () => undefined);
      loop.run();
      for (let n = 0; n < turns; n += 1) await undefined;
      loop.run();
      await loop.idle;
      expect([loop.busy, looks.mock.calls.length]).toEqual([false, 2]);
    }
  });

  it('tries again for about a minute while the store is away, and anew when it is asked', async () => {
    const { loop, looks, errors, onGivenUp } = create(async () => Promise.reject(new UnavailableError('away')));
    loop.run();
    await jest.advanceTimersByTimeAsync(200_000);
    expect([looks.mock.calls.length, onGivenUp.mock.calls.length, loop.busy]).toEqual([120, 1, false]);
    await loop.idle;
    loop.run();
    await jest.advanceTimersByTimeAsync(200_000);
    expect([looks.mock.calls.length, onGivenUp.mock.calls.length]).toEqual([240, 2]);
    expect(errors).toEqual([]);
  });

  it('reports what is not the store’s fault, once until it works again', async () => {
    const [away, mine, another] = [new UnavailableError('away'), new TypeError('mine'), new TypeError('another')];
    const outcomes = [away, mine, away, mine, another, undefined, another, undefined];
    const { loop, errors } = create(async () => {
      const outcome = outcomes.shift();
      if (outcome !== undefined) throw outcome;
    });
    for (let times = 0; times < 2; times += 1) {
      loop.run();
      await jest.advanceTimersByTimeAsync(10_000);
    }
    expect(errors).toEqual([mine, another]);
    expect(outcomes).toEqual([]);
  });

  it('ends at once, and leaves no timer', async () => {
    const { loop, looks } = create(async () => Promise.reject(new UnavailableError('away')));
    loop.run();
    await jest.advanceTimersByTimeAsync(0);
    loop.end();
    await loop.idle;
    loop.run();
    expect([jest.getTimerCount(), looks.mock.calls.length, loop.ended, loop.busy]).toEqual([0, 1, true, false]);
  });
});
