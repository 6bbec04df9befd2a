/** The store in Redis: records, caps and what is unreadable. */
import type { RedisSessionStore } from 'express-mcp/redis';
import type { SharedSettings } from '../../lib/sessions/shared-store';
import { UnavailableError } from '../../lib/protocol/errors';
import { eventually } from '../support/eventually';
import { createRedis, describeRedis } from '../support/redis';
import type { Redis } from '../support/redis';
import { createRecord, describeSessionStore } from '../support/session-store-contract';

describeRedis('The store in Redis', () => {
  let redis: Redis;
  let prefix = 0;
  beforeAll(async () => {
    redis = await createRedis();
  });
  afterAll(() => redis.close());

  describeSessionStore('redisSessions', async () => {
    prefix += 1;
    const [store, another] = [1, 2].map(() => redis.createStore({ prefix: `contract:${prefix}` }));
    return { store: store!, another: another! };
  });

  function join(settings: Partial<SharedSettings> = {}): RedisSessionStore {
    const store = redis.createStore({ prefix: `caps:${prefix}` });
    store.shared.join({
      maxSessions: 100,
      maxSessionsPerPrincipal: 100,
      idleMs: 60_000,
      evictableAfterMs: 30_000,
      streamLimit: 100,
      streamBytes: 10_000,
      historyMs: 60_000,
      hear() {},
      onError() {},
      ...settings,
    });
    return store;
  }

  const opened = { opened: true, evicted: [], seq: 0 };
  const full = { opened: false, evicted: [], seq: 0 };

  it('counts sessions of a principal over all nodes', async () => {
    prefix += 1;
    const [a, b] = [join({ maxSessionsPerPrincipal: 2 }), join({ maxSessionsPerPrincipal: 2 })];
    expect(await a!.shared.open(createRecord('1', { principal: 'alice' }))).toEqual(opened);
    expect(await b!.shared.open(createRecord('2', { principal: 'alice' }))).toEqual(opened);
    expect(await a!.shared.open(createRecord('3', { principal: 'alice' }))).toEqual(full);
    expect(await a!.shared.open(createRecord('4', { principal: 'bob' }))).toEqual(opened);
    expect(await b!.get('3')).toBeUndefined();
    await b!.shared.end('1', 'client');
    expect(await a!.shared.open(createRecord('5', { principal: 'alice' }))).toEqual(opened);
  });

  it('holds the cap against many that open at once', async () => {
    prefix += 1;
    const nodes = [join({ maxSessions: 5 }), join({ maxSessions: 5 })];
    const openings = await Promise.all(
      Array.from({ length: 20 }, (_, n) => nodes[n % 2]!.shared.open(createRecord(`${n}`))),
    );
    expect(openings.filter((opening) => opening.opened)).toHaveLength(5);
  });

  it('makes room by what has been idle for long enough', async () => {
    prefix += 1;
    const store = join({ maxSessions: 2, evictableAfterMs: 0 });
    await store.shared.open(createRecord('1'));
    await store.shared.open(createRecord('2'));
    await store.shared.touch(createRecord('1'));
    // Milliseconds are the grain of its clock: the order of equals is that of their ids.
    const { opened, evicted } = await store.shared.open(createRecord('3'));
    expect([opened, evicted.length]).toEqual([true, 1]);
  });

  it('takes no places for sessions that come too late, and tells of none', async () => {
    prefix += 1;
    const [store, other] = [
      join({ maxSessionsPerPrincipal: 3 }),
      join({ maxSessionsPerPrincipal: 3, evictableAfterMs: 0 }),
    ];
    await store!.shared.open(createRecord('there', { principal: 'carol' }));
    await redis.command('CLIENT', 'PAUSE', '1100', 'ALL');
    const late = ['a', 'b'].map((id) => store!.shared.open(createRecord(id, { principal: 'carol' })));
    for (const opening of await Promise.allSettled(late)) expect(opening.status).toBe('rejected');
    const all = `{caps:${prefix}}:all`;
    await redis.command('PING');
    expect(await redis.command('ZRANGE', all, '0', '-1')).toEqual(['there']);
    expect(await redis.command('HKEYS', `{caps:${prefix}}:owners`)).toEqual(['there']);
    expect((await other!.shared.open(createRecord('c', { principal: 'carol' }))).evicted).toEqual([]);
    // Their node has died meanwhile: one of them had a record already.
    const ago = (ms: number) => String(Date.now() - ms + 0.5);
    await redis.command('ZADD', all, ago(1_000), 'never', ago(2_000), 'nearly');
    await redis.command('SET', `{caps:${prefix}:nearly}`, '', 'PX', '60000');
    expect(await other!.shared.endIdle()).toEqual({ ended: [], more: false });
    await redis.command('DEL', `{caps:${prefix}:nearly}`);
    await redis.command('ZINCRBY', all, '-60000', 'nearly');
    expect(await other!.shared.endIdle()).toEqual({ ended: [], more: false });
    expect(await redis.command('ZRANGEBYSCORE', all, '(0', '+inf')).toEqual(['there', 'c']);
  });

  it('lets what is being opened make no room', async () => {
    prefix += 1;
    const store = join({ maxSessions: 2, evictableAfterMs: 0 });
    const all = `{caps:${prefix}}:all`;
    await redis.command('ZADD', all, String(Date.now() + 6_000.5), 'opening');
    await store.shared.open(createRecord('1'));
    expect((await store.shared.open(createRecord('2'))).evicted).toEqual(['1']);
    // Whoever had to end it has died: it gets its place back.
    expect(Number(await redis.command('ZSCORE', all, '1'))).toBeLessThan(0);
    await redis.command('ZINCRBY', all, '11000', '1');
    expect(await store.shared.endIdle()).toEqual({ ended: [], more: false });
    expect(Number(await redis.command('ZSCORE', all, '1'))).toBeGreaterThan(Date.now());
  });

  it('changes nothing where memory is full, but that what is in use lives on', async () => {
    prefix += 1;
    const store = join({ maxSessions: 2, evictableAfterMs: 0 });
    const record = createRecord('1', { principal: 'alice' });
    await store.shared.open(record);
    await store.shared.open(createRecord('2'));
    const all = `{caps:${prefix}}:all`;
    const before = await redis.command('ZRANGE', all, '0', '-1', 'WITHSCORES');
    await redis.command('PEXPIRE', `{caps:${prefix}:1}`, '10000');
    await redis.command('CONFIG', 'SET', 'maxmemory', '1');
    try {
      await expect(store.shared.open(createRecord('3'))).rejects.toThrow(UnavailableError);
      expect(await redis.command('ZRANGE', all, '0', '-1', 'WITHSCORES')).toEqual(before);
      expect(await store.shared.touch(record)).toBe(true);
      expect(await redis.command('PTTL', `{caps:${prefix}:1}`)).toBeGreaterThan(10_000);
    } finally {
      await redis.command('CONFIG', 'SET', 'maxmemory', '0');
    }
  });

  it('lets sessions end by themselves', async () => {
    prefix += 1;
    const store = join({ idleMs: 40, maxSessions: 1, evictableAfterMs: 10_000 });
    const record = createRecord('1', { principal: 'alice' });
    await store.shared.open(record);
    await store.update({ ...record, initialized: true });
    const start = Date.now();
    while ((await store.get('1')) !== undefined) expect(Date.now() - start).toBeLessThan(5_000);
    expect(await store.shared.touch(record)).toBe(false);
    // Its place was taken after it was there.
    while (!(await store.shared.open(createRecord('2'))).opened) expect(Date.now() - start).toBeLessThan(5_000);
  });

  async function endOf(...stores: RedisSessionStore[]): Promise<{ id: string; principal: string | undefined }[]> {
    const ended = [];
    const start = Date.now();
    while (ended.length === 0) {
      expect(Date.now() - start).toBeLessThan(5_000);
      for (const store of stores) ended.push(...(await store.shared.endIdle()).ended);
    }
    return ended;
  }

  it('tells one node of a session that has ended by itself, once', async () => {
    prefix += 1;
    const [opener, a, b] = [1, 2, 3].map(() => join({ idleMs: 40 }));
    await opener!.shared.open(createRecord('mine', { principal: 'alice' }));
    await opener!.shared.leave();
    expect(await endOf(a!, b!)).toEqual([{ id: 'mine', principal: 'alice' }]);
    expect(await a!.shared.endIdle()).toEqual({ ended: [], more: false });
    await a!.shared.open(createRecord('nobody'));
    expect(await endOf(a!, b!)).toEqual([{ id: 'nobody', principal: undefined }]);
    // Nothing stays behind.
    expect(await redis.command('ZCARD', `{caps:${prefix}}:all`)).toBe(0);
    expect(await redis.command('HLEN', `{caps:${prefix}}:owners`)).toBe(0);
  });

  it('lets several nodes look after many sessions that have ended, each after others', async () => {
    prefix += 1;
    const [a, b] = [join(), join()];
    const places = Array.from({ length: 500 }, (_, n) => [`${n + 1}`, `s${n}`]);
    await redis.command('ZADD', `{caps:${prefix}}:all`, ...places.flat());
    const looks = [a, b, a, b].map((store) => store!.shared.endIdle());
    const found = await Promise.all(looks);
    expect(found.map(({ ended, more }) => [ended.length, more])).toEqual(
      expect.arrayContaining([
        [200, true],
        [200, true],
        [100, false],
        [0, false],
      ]),
    );
    expect(new Set(found.flatMap(({ ended }) => ended.map(({ id }) => id))).size).toBe(500);
    expect(await redis.command('ZCARD', `{caps:${prefix}}:all`)).toBe(0);
  });

  it('looks after those again whose node has died over it', async () => {
    prefix += 1;
    const store = join();
    const all = `{caps:${prefix}}:all`;
    const ago = (ms: number) => String(ms - Date.now());
    await redis.command('ZADD', all, ago(0), 'claimed', ago(11_000), 'left');
    expect(await store.shared.endIdle()).toEqual({ ended: [{ id: 'left', principal: undefined }], more: false });
    expect(await redis.command('ZRANGE', all, '0', '-1')).toEqual(['claimed']);
  });

  it('tells of no end where there was another one, or none', async () => {
    prefix += 1;
    const store = join({ maxSessions: 1, evictableAfterMs: 0 });
    await store.shared.open(createRecord('a', { principal: 'alice' }));
    await store.shared.end('a', 'client');
    await store.shared.open(createRecord('b', { principal: 'alice' }));
    const { evicted } = await store.shared.open(createRecord('c', { principal: 'bob' }));
    expect(evicted).toEqual(['b']);
    await store.shared.end('b', 'evicted');
    await store.shared.open(createRecord('d'));
    // Its place is forgotten while it lives on: it keeps one.
    await redis.command('ZADD', `{caps:${prefix}}:all`, '1', 'd');
    await redis.command('PEXPIRE', `{caps:${prefix}:d}`, '60000');
    expect(await store.shared.endIdle()).toEqual({ ended: [], more: false });
    expect(await redis.command('ZCOUNT', `{caps:${prefix}}:all`, '2', '+inf')).toBe(1);
  });

  it.each([
    ['another version', { v: '2', r: '{}' }],
    ['no JSON', { v: '1', r: '{' }],
    ['no object', { v: '1', r: '[]' }],
    ['an unknown revision', { v: '1', r: '{"revision":"1999-01-01","clientInfo":{},"capabilities":{}}' }],
    ['a modern revision', { v: '1', r: '{"revision":"2026-07-28","clientInfo":{},"capabilities":{}}' }],
    ['no version', { x: '1' }],
    ['no number of a notice', { v: '1', r: '{"revision":"2025-11-25","clientInfo":{},"capabilities":{}}', q: 'abc' }],
  ])('takes a record of %s for an ended session', async (_, fields) => {
    prefix += 1;
    const store = redis.createStore({ prefix: `bad:${prefix}` });
    await redis.command('HSET', `{bad:${prefix}:a}`, ...Object.entries(fields).flat());
    expect(await store.get('a')).toBeUndefined();
  });

  it('reports what no node has said on its channels, and goes on', async () => {
    prefix += 1;
    const [hear, onError] = [jest.fn(), jest.fn()];
    const store = join({ hear, onError });
    await store.create(createRecord('a'));
    for (const text of ['null', '{"kind":"notice","seq":"a"}', JSON.stringify({ kind: 'changed', id: 'a' })])
      await redis.command('PUBLISH', `caps:${prefix}:all`, text);
    await eventually(() => hear.mock.calls.length > 0);
    expect(hear.mock.calls).toEqual([[{ kind: 'changed', id: 'a' }]]);
    expect(onError.mock.calls.map(([error]) => (error as Error).message)).toEqual([
      'Redis: a message that is none of ours',
    ]);
  });

  describe('takes what is none of ours for an ended session, and removes it:', () => {
    const key = () => `{caps:${prefix}:a}`;
    const spoil: Record<string, () => unknown> = {
      'a text': () => redis.command('SET', key(), 'garbage'),
      'a list': () => redis.command('DEL', key()).then(() => redis.command('RPUSH', key(), '1')),
      'a text for its stream': () => redis.command('SET', `${key()}:e:0`, 'x'),
      'a text for the state of its stream': () => redis.command('SET', `${key()}:s:0`, 'x'),
      'no number of a position': () => redis.command('HSET', `${key()}:s:0`, 'p', 'zzz', 'n', '0'),
      'no number of a notice': () => redis.command('HSET', `${key()}:s:0`, 'p', '0', 'n', 'zz'),
      'no number of what was written': () => redis.command('HSET', `${key()}:s:0`, 'p', '0', 'w', 'zz'),
    };
    it.each(Object.keys(spoil))('%s', async (what) => {
      prefix += 1;
      const hear = jest.fn();
      const [store, other] = [join(), join({ hear })];
      const record = createRecord('a', { principal: 'alice' });
      await store!.shared.open(record);
      await spoil[what]!();
      await store!.shared.touch(record);
      await store!.update({ ...record, initialized: true });
      await store!.shared.streams.hold('a', '0', 0);
      const batch = { events: [{ seq: 1, json: '{}' }], writer: 'w', before: 0 };
      await store!.shared.streams.appendStandalone('a', batch, 0, 0);
      expect([await store!.get('a'), await store!.shared.touch(record)]).toEqual([undefined, false]);
      expect(await redis.command('KEYS', `{caps:${prefix}*`)).toEqual([]);
      await eventually(() => hear.mock.calls.some(([{ kind }]) => kind === 'ended'));
      expect(await other!.get('a')).toBeUndefined();
    });

    it('but not another store’s', async () => {
      prefix += 1;
      const [outer, inner] = [join(), redis.createStore({ prefix: `caps:${prefix}:inner` })];
      await inner!.create(createRecord('a'));
      expect(await outer!.get('inner:a')).toBeUndefined();
      await outer!.delete('inner:a');
      expect(await inner!.get('a')).toEqual(createRecord('a'));
    });
  });

  it('keeps changes of two nodes that do not know of each other', async () => {
    prefix += 1;
    const [a, b] = [1, 2].map(() => redis.createStore({ prefix: `both:${prefix}` }));
    await a!.create(createRecord('a', { subscriptions: ['x'] }));
    const [onA, onB] = [(await a!.get('a'))!, (await b!.get('a'))!];
    onA.subscriptions = ['x', 'y'];
    onB.subscriptions = [];
    onB.logLevel = 'error';
    onA.initialized = true;
    await Promise.all([a!.update(onA), b!.update(onB)]);
    expect(await a!.get('a')).toMatchObject({ subscriptions: ['y'], logLevel: 'error', initialized: true });
  });

  it('spends an approval once, whichever node is asked', async () => {
    prefix += 1;
    const [a, b] = [join(), join()];
    const spent = await Promise.all([a, b, a, b].map((store) => store!.shared.spend('n', Date.now() + 60_000)));
    expect(spent.filter(Boolean)).toHaveLength(1);
    expect(await a!.shared.spend('late', Date.now() - 1)).toBe(false);
  });

  it('spends an approval once, whatever the clocks of nodes say', async () => {
    prefix += 1;
    const [a, b] = [join(), join()];
    const now = Date.now();
    const clock = jest.spyOn(Date, 'now');
    try {
      const spendAt = (store: RedisSessionStore | undefined, skewMs: number, nonce: string, expiresAt: number) => {
        clock.mockReturnValue(now + skewMs);
        return store!.shared.spend(nonce, expiresAt);
      };
      // It is over at once on this node, and not for a long time on one that is behind.
      expect(await spendAt(a, 59_999, 'n', now + 60_000)).toBe(true);
      expect(await redis.command('PTTL', `caps:${prefix}:spent:n`)).toBeGreaterThan(600_000);
      expect(await spendAt(b, -600_000, 'n', now + 60_000)).toBe(false);
      // So far behind that Redis no longer knows whether it was used.
      expect(await spendAt(b, -1_200_000, 'forgotten', now - 600_001)).toBe(false);
      expect(await redis.command('EXISTS', `caps:${prefix}:spent:forgotten`)).toBe(0);
    } finally {
      clock.mockRestore();
    }
  });
});
