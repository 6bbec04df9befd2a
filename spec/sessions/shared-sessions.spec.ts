/** Copies of shared sessions on one node, with a store that fails. */
import { UnavailableError } from '../../lib/protocol/errors';
import { HeldReply } from '../../lib/sessions/held-reply';
import { SharedSessions } from '../../lib/sessions/shared-sessions';
import type { NodeMessage, SharedPart, SharedSettings } from '../../lib/sessions/shared-store';
import type { SessionStore } from '../../lib/sessions/session-store';
import { createSink } from '../support/sink';
import { createRecord } from '../support/session-store-contract';

describe('Copies of shared sessions', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  function create(
    shared: Omit<Partial<SharedPart>, 'streams'>,
    { streams, get = (id) => createRecord(id) }: { streams?: object; get?: SessionStore['get'] } = {},
  ) {
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
      streams: { beat: away, publish: away, noticesSince: away, isAlive: away, ...streams },
      send: away,
      ...shared,
    };
    const sessions = new SharedSessions({
      store: { create() {}, update() {}, delete() {}, get },
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

  describe('that read what a call on another node has said', () => {
    const said = [1, 2, 3].map((position) => ({ position, json: `${position}` }));
    const streams = {
      hold: async () => ({ owner: 'there', finished: true, last: 3, written: 0, seq: 0, listened: false }),
      read: async (_id: string, _streamId: string, after: number) => ({
        finished: true,
        isHeld: true,
        events: said.filter(({ position }) => position > after),
      }),
    };
    let made: ReturnType<typeof create>;
    beforeEach(() => {
      made = create({ touch: () => Promise.resolve(true) }, { streams });
    });
    afterEach(() => made.sessions.endAll('shutdown'));
    const resume = async (streamId: string, after: number) => {
      const session = (await made.sessions.find('a', undefined))!;
      const stream = (await made.sessions.findStream(session, streamId, after))!;
      const sink = createSink();
      stream.attach(sink, after);
      await jest.advanceTimersByTimeAsync(0);
      return sink;
    };

    it('follow it no more when all is said', async () => {
      for (let n = 0; n < 50; n += 1) await resume(`s${n}`, 0);
      const woken = jest.spyOn(HeldReply.prototype, 'wake');
      made.hear({ kind: 'resync' });
      expect(woken).not.toHaveBeenCalled();
      woken.mockRestore();
    });

    it('have all of it, although it was first read from later on', async () => {
      expect((await resume('s', 2)).texts()).toEqual(['3']);
      expect((await resume('s', 1)).texts()).toEqual(['2', '3']);
      expect((await resume('s', 2)).texts()).toEqual(['3']);
      // What has just been read again is not forgotten for what was read before.
      const session = (await made.sessions.find('a', undefined))!;
      session.dropFinished(Date.now() - 1);
      expect(session.isHeld).toBe(true);
    });
  });

  it('are left when what was said last is told', async () => {
    let tell = () => undefined as void;
    const publish = jest.fn(() => new Promise<void>((resolve) => (tell = resolve)));
    const { sessions } = create({}, { streams: { publish } });
    const notice = (data: string) => ({ message: { jsonrpc: '2.0' as const, method: 'm', params: { data } } });
    for (const text of ['first', 'last']) sessions.publish(notice(text));
    let isOver = false;
    const ending = sessions.endAll('shutdown').then(() => (isOver = true));
    for (const times of [1, 2]) {
      await jest.advanceTimersByTimeAsync(0);
      expect([publish.mock.calls.length, isOver]).toEqual([times, false]);
      tell();
    }
    await ending;
    sessions.publish(notice('too late'));
    await jest.advanceTimersByTimeAsync(60_000);
    expect(publish).toHaveBeenCalledTimes(2);
    expect(jest.getTimerCount()).toBe(0);
  });

  describe('that are swept', () => {
    it('are all looked for, together and once at a time, although the store fails for one', async () => {
      let failing: string | undefined;
      let answer = () => undefined as void;
      let asked: string[] = [];
      const get = jest.fn(async (id: string) => {
        asked.push(id);
        await new Promise<void>((resolve) => {
          const before = answer;
          answer = () => (before(), resolve());
        });
        if (id === failing) throw new UnavailableError('away');
        return undefined;
      });
      const record = jest.fn(async (id: string) => createRecord(id));
      let sweeping = false;
      const { sessions } = create(
        { touch: () => Promise.resolve(true) },
        { get: (id) => (sweeping ? get(id) : record(id)) },
      );
      for (const id of ['a', 'b', 'c']) await sessions.find(id, undefined);
      sweeping = true;
      failing = 'a';
      const later = Date.now() + 3_600_000;
      const sweeps = [sessions.sweep(later), sessions.sweep(later)];
      await jest.advanceTimersByTimeAsync(0);
      expect(asked).toEqual(['a', 'b', 'c']);
      answer();
      for (const sweep of sweeps) await expect(sweep).rejects.toThrow('away');
      expect([...sessions].map(({ record: { id } }) => id)).toEqual(['a']);
      asked = [];
      failing = undefined;
      const again = sessions.sweep(later);
      await jest.advanceTimersByTimeAsync(0);
      answer();
      await again;
      expect(asked).toEqual(['a']);
      expect(sessions.size).toBe(0);
      await sessions.endAll('shutdown');
    });
  });
});
