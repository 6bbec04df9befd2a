/** Streams and notices in Redis, through one node's part: what is repeated is not done twice. */
import type { RedisSessionStore } from 'express-mcp/redis';
import type { SharedNotice } from '../../lib/sessions/shared-store';
import { createRedis, describeRedis } from '../support/redis';
import type { Redis } from '../support/redis';
import { createRecord } from '../support/session-store-contract';

describeRedis('Streams in Redis', () => {
  let redis: Redis;
  let store: RedisSessionStore;
  let another: RedisSessionStore;
  let made = 0;
  beforeAll(async () => {
    redis = await createRedis();
  });
  beforeEach(async () => {
    const prefix = `streams:${++made}`;
    store = redis.createStore({ prefix });
    another = redis.createStore({ prefix });
    await store.shared.open(createRecord('a'));
  });
  afterAll(() => redis.close());

  const event = (json: string, seq = 0) => ({ seq, json });
  const append = (events: ReturnType<typeof event>[], before: number, writer = 'w') =>
    store.shared.streams.appendStandalone('a', { events, writer, before }, 0, 0);
  const texts = (events: unknown) => (events as { json: string }[]).map(({ json }) => json);

  it('take what a writer appends once, however often it says so', async () => {
    await store.shared.streams.hold('a', '0', 0);
    await append([event('1'), event('2')], 0);
    await append([event('1'), event('2')], 0);
    // The answer to the first got lost, and more has come since.
    expect(texts(await append([event('1'), event('2'), event('3')], 0))).toEqual(['1', '2', '3']);
    expect(texts(await append([event('4')], 3))).toEqual(['1', '2', '3', '4']);
    expect(texts(await append([event('5')], 0, 'another'))).toEqual(['1', '2', '3', '4', '5']);
    expect(texts(await append([], 4))).toHaveLength(5);
  });

  it('go on after what has been read, where a replica that has taken over knows less', async () => {
    await store.shared.streams.hold('a', '0', 0);
    await append([event('1'), event('2'), event('3')], 0);
    const state = `{streams:${made}:a}:s:0`;
    await redis.command('HSET', state, 'p', '1', 'm', 'w 1');
    await redis.command('XTRIM', `{streams:${made}:a}:e:0`, 'MAXLEN', '0');
    const own = { events: [event('4')], writer: 'w', before: 3 };
    expect(await store.shared.streams.appendStandalone('a', own, 3, 3)).toMatchObject([{ position: 4, json: '4' }]);
  });

  it('are held by one node, and say whether they have been held before', async () => {
    expect(await store.shared.streams.hold('a', '0', 0)).toMatchObject({ listened: false, last: 0 });
    expect(await another.shared.streams.hold('a', '0', 0)).toMatchObject({ listened: true });
    expect(await append([event('1')], 0)).toBe('taken');
    await store.shared.end('a', 'client');
    expect(await append([event('1')], 0)).toBe('ended');
    expect(await store.shared.streams.hold('a', '0', 0)).toBeUndefined();
  });

  const batch = (position: number, finished = false) => ({
    events: [{ position, json: `${position}` }],
    requestIds: [7],
    finished,
  });
  const replyKeys = (streamId: string) => ['e', 's'].map((kind) => `{streams:${made}:a}:${kind}:${streamId}`);

  it('of running calls are kept for as long as they are spoken of, however short the sessions’ lives are', async () => {
    const idle = redis.createStore({ prefix: `streams:${made}` });
    const settings = {
      maxSessions: 9,
      maxSessionsPerPrincipal: 9,
      streamLimit: 9,
      streamBytes: 999,
      evictableAfterMs: 1,
    };
    idle.shared.join({ ...settings, idleMs: 50, historyMs: 1_000, hear() {}, onError() {} });
    const { streams } = idle.shared;
    const livesFor = async () => {
      const lives = await Promise.all(replyKeys('r').map((key) => redis.command('PTTL', key)));
      return lives.map((ms) => Math.ceil(Number(ms) / 1_000));
    };
    await streams.appendReply('a', 'r', batch(1));
    expect(await livesFor()).toEqual([31, 31]);
    for (const key of replyKeys('r')) await redis.command('PEXPIRE', key, '5000');
    expect(await streams.appendReply('a', 'r', { ...batch(1), events: [] })).toBe('told');
    expect(await livesFor()).toEqual([31, 31]);
    expect(await streams.appendReply('a', 'r', batch(2, true))).toBe('told');
    expect(await livesFor()).toEqual([1, 1]);
  });

  it.each([
    ['of another type', async (key: string) => void (await redis.command('SET', key, 'x'))],
    [
      'that are no numbers',
      async (key: string) => void (await redis.command('HSET', key, 'p', 'x', 'b', 'x', 'f', '0')),
    ],
  ])('are over, not waited for, where their keys have values %s', async (_, spoil) => {
    const { streams } = store.shared;
    await streams.hold('a', '0', 0);
    for (const streamId of ['0', 'r']) await spoil(`{streams:${made}:a}:s:${streamId}`);
    expect(await append([event('1')], 0)).toBe('ended');
    expect(await streams.appendReply('a', 'r', batch(1))).toBe('ended');
    expect(await streams.hold('a', 'r', 0)).toBeUndefined();
  });

  it('are forgotten by the call that hears that its session has ended', async () => {
    await store.shared.streams.appendReply('a', 'r', batch(1));
    await another.shared.end('a', 'client');
    expect(await store.shared.streams.appendReply('a', 'r', batch(2))).toBe('ended');
    expect(await redis.command('EXISTS', ...replyKeys('r'))).toBe(0);
  });

  it('are answered once: by the call, however often it says so, or for it', async () => {
    const { node, streams } = store.shared;
    for (const streamId of ['r', 's']) await streams.appendReply('a', streamId, batch(1));
    for (let times = 0; times < 2; times += 1) expect(await streams.appendReply('a', 'r', batch(2, true))).toBe('told');
    await another.shared.streams.abandon('a', 'r', node);
    await another.shared.streams.abandon('a', 's', node);
    for (let times = 0; times < 2; times += 1)
      expect(await streams.appendReply('a', 's', batch(2, true))).toBe('abandoned');
    expect(texts((await streams.read('a', 'r', 0)).events)).toEqual(['1', '2']);
    expect(texts((await streams.read('a', 's', 0)).events)).toEqual(['1', expect.stringContaining('has ended')]);
  });

  it('belong to a dead node where that shows no sign of life, although something listens in its name', async () => {
    const { streams } = store.shared;
    const theirs = another.shared;
    await theirs.streams.beat();
    const now = jest.spyOn(Date, 'now');
    const start = performance.timeOrigin + performance.now();
    const at = async (ms: number) => {
      now.mockReturnValue(start + ms);
      await streams.beat();
      return streams.isAlive(theirs.node);
    };
    try {
      expect(await at(0)).toBe(true);
      await redis.command('DEL', `streams:${made}:node:${theirs.node}`);
      expect([await at(2_000), await at(5_000)]).toEqual([true, true]);
      expect([await at(6_000), await at(8_000)]).toEqual([false, false]);
      // This node has been away as well: nobody could tell.
      expect([await at(20_000), await at(25_000), await at(26_000)]).toEqual([true, true, false]);
      await theirs.streams.beat();
      expect(await at(28_000)).toBe(true);
    } finally {
      now.mockRestore();
    }
  });

  const notice = (data: unknown, mergeKey?: string): SharedNotice => ({
    message: { jsonrpc: '2.0', method: 'notifications/message', params: { data } },
    mergeKey,
  });
  const dataSince = async (seq: number) =>
    (await store.shared.streams.noticesSince(seq)).notices.map(({ notice: { message } }) => message.params?.data);

  it('tell a notice once, whichever node it comes from', async () => {
    const { streams } = store.shared;
    await streams.publish(notice('first'), 1);
    await streams.publish(notice('first'), 1);
    await another.shared.streams.publish(notice('theirs'), 1);
    await streams.publish(notice('second'), 2);
    expect(await dataSince(0)).toEqual(['first', 'theirs', 'second']);
    const { notices, seq } = await streams.noticesSince(0);
    expect(await dataSince(seq - 1)).toEqual(['second']);
    expect(notices.map(({ from }) => from)).toEqual([store.shared.node, another.shared.node, store.shared.node]);
  });

  it('keep of a key the latest, in order with the others', async () => {
    const { streams } = store.shared;
    await streams.publish(notice('changed', 'tools'), 1);
    await streams.publish(notice('said'), 2);
    await streams.publish(notice('changed', 'tools'), 3);
    expect(await dataSince(0)).toEqual(['said', 'changed']);
  });

  it('keep a bounded number and size of what replaces nothing', async () => {
    const { streams } = store.shared;
    for (let count = 1; count <= 1_010; count += 1) await streams.publish(notice(count), count);
    expect((await dataSince(0)).slice(0, 2)).toEqual([11, 12]);
    const before = (await streams.noticesSince(0)).seq - 1_010;
    const lost = async () => (await streams.noticesSince(0)).lost - before;
    expect(await lost()).toBe(10);
    for (let count = 1_011; count <= 1_014; count += 1) await streams.publish(notice('x'.repeat(300_000)), count);
    expect(await dataSince(0)).toHaveLength(3);
    expect(await lost()).toBe(1_011);
    // Their time is up.
    await redis.command('DEL', `{streams:${made}}:said`);
    expect(await lost()).toBe(1_014);
    await streams.publish(notice('x'.repeat(900_000)), 1_015);
    expect(await dataSince(0)).toHaveLength(1);
    expect(await lost()).toBe(1_014);
  });
});
