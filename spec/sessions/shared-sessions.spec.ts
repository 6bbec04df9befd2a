/** Copies of shared sessions on one node, with a store that fails. */
import { UnavailableError } from '../../lib/protocol/errors';
import { SharedSessions } from '../../lib/sessions/shared-sessions';
import type { NodeMessage, SharedPart, SharedSettings } from '../../lib/sessions/shared-store';
import { createRecord } from '../support/session-store-contract';

describe('Copies of shared sessions', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  function create(shared: Partial<SharedPart>) {
    let settings: SharedSettings | undefined;
    const away = () => Promise.reject(new UnavailableError('away'));
    const onError = jest.fn();
    const streamLimits = { waitingLimit: 10, waitingBytes: 1_000, historyLimit: 10, historyBytes: 1_000 };
    const part = {
      node: 'here',
      join: (given: SharedSettings) => void (settings = given),
      endIdle: away,
      leave: () => Promise.resolve(),
      // What is not looked at here is away.
      streams: { beat: away, publish: away, noticesSince: away, isAlive: away },
      send: away,
      ...shared,
    };
    const sessions = new SharedSessions({
      store: { create() {}, update() {}, delete() {}, get: (id) => createRecord(id) },
      shared: part as unknown as SharedPart, // as much of it as is used here
      maxSessions: 10,
      maxSessionsPerPrincipal: 10,
      idleMs: 1_800_000,
      streamLimits,
      historyMs: 60_000,
      hear() {},
      onEnd() {},
      onError,
    });
    return { sessions, onError, hear: (message: NodeMessage) => settings!.hear(message) };
  }

  it('are reported as in use once in a few seconds while that fails, then once in half a minute', async () => {
    const touch = jest.fn((): Promise<boolean> => Promise.reject(new UnavailableError('full')));
    const { sessions } = create({ touch });
    const use = async (seconds: number) => {
      for (let n = 0; n < seconds; n += 1) {
        await sessions.find('a', undefined);
        await jest.advanceTimersByTimeAsync(1_000);
      }
      return touch.mock.calls.length;
    };
    expect(await use(20)).toBe(4);
    touch.mockResolvedValue(true);
    expect(await use(30)).toBe(5);
    await sessions.endAll('shutdown');
  });

  it('report an answer that nobody waits for and that finds its node no more', async () => {
    const { sessions, onError, hear } = create({ touch: () => Promise.resolve(true) });
    await sessions.find('a', undefined);
    hear({ kind: 'answer', id: 'a', response: { jsonrpc: '2.0', id: 'there.1', result: {} } });
    await jest.advanceTimersByTimeAsync(0);
    expect(onError).toHaveBeenCalledWith(expect.any(UnavailableError));
    await sessions.endAll('shutdown');
  });
});
