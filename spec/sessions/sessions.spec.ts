/** The live sessions of a mount: opened, found, bounded, ended. */
import type { SessionEndReason } from '../../lib/sessions/session';
import { Sessions } from '../../lib/sessions/sessions';
import type { SessionsOptions } from '../../lib/sessions/sessions';
import { MemorySessionStore } from '../../lib/sessions/memory-session-store';
import type { SessionRecord, SessionStore } from '../../lib/sessions/session-store';
import { createRecord } from '../support/session-store-contract';
import { createSink } from '../support/sink';

const streamLimits = { waitingLimit: 10, waitingBytes: 1_000, historyLimit: 10, historyBytes: 1_000 };
const minute = 60_000;

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

function createSessions(options: Partial<SessionsOptions> = {}) {
  const ends: { id: string; reason: SessionEndReason }[] = [];
  const errors: unknown[] = [];
  const store = options.store ?? new MemorySessionStore();
  const sessions = new Sessions({
    store,
    maxSessions: 100,
    maxSessionsPerPrincipal: 100,
    idleMs: 30 * minute,
    streamLimits,
    onEnd: ({ record }, reason) => ends.push({ id: record.id, reason }),
    onError: (error) => errors.push(error),
    ...options,
  });
  const open = async (principal?: string) => {
    const { id: _, ...record } = createRecord('', { principal });
    return sessions.open(record);
  };
  return { sessions, store, ends, errors, open };
}

/** A store whose answers come when they are let go. */
function createSlowStore() {
  const memory = new MemorySessionStore();
  const held: (() => void)[] = [];
  const later = async <T>(act: () => T): Promise<T> => {
    await new Promise<void>((resolve) => held.push(resolve));
    return act();
  };
  const store: SessionStore = {
    create: (record) => later(() => memory.create(record)),
    get: async (id) => memory.get(id),
    update: (record) => later(() => memory.update(record)),
    delete: (id) => later(() => memory.delete(id)),
  };
  return { store, memory, release: () => held.splice(0).forEach((resolve) => resolve()) };
}

describe('a session', () => {
  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
  it('MUST have an id of visible ASCII, and SHOULD have one that nobody can guess', async () => {
    const { open } = createSessions();
    const ids = await Promise.all(Array.from({ length: 100 }, async () => (await open())!.record.id));
    for (const id of ids) expect(id).toMatch(/^[\x21-\x7e]{21,}$/);
    expect(new Set(ids).size).toBe(100);
  });

  it('is stored when it is opened, changed and ended', async () => {
    const { sessions, store, open } = createSessions();
    const session = (await open('alice'))!;
    const { id } = session.record;
    expect(await store.get(id)).toMatchObject({ principal: 'alice', initialized: false });
    session.record.initialized = true;
    await sessions.save(session);
    expect(await store.get(id)).toMatchObject({ initialized: true });
    await sessions.end(session, 'client');
    expect(await store.get(id)).toBeUndefined();
  });

  it.each([
    ['alice', 'alice', true],
    ['alice', 'bob', false],
    ['alice', undefined, false],
    [undefined, 'alice', false],
    [undefined, undefined, true],
    ['alice', 'Alice', false],
    ['', undefined, false],
  ])('of %j is found by %j: %s', async (owner, principal, expected) => {
    const { sessions, open } = createSessions();
    const { record } = (await open(owner))!;
    expect((await sessions.find(record.id, principal)) !== undefined).toBe(expected);
    expect(sessions.findLive(record.id, principal) !== undefined).toBe(expected);
  });

  it('is not kept alive by whoever tries its id', async () => {
    const { sessions, open } = createSessions();
    const session = (await open('alice'))!;
    const { lastActiveAt } = session;
    jest.advanceTimersByTime(minute);
    await sessions.find(session.record.id, 'bob');
    sessions.findLive(session.record.id, 'bob');
    expect(session.lastActiveAt).toBe(lastActiveAt);
    await sessions.find(session.record.id, 'alice');
    expect(session.lastActiveAt).toBe(lastActiveAt + minute);
  });

  it.each(['', 'nope', '__proto__', 'constructor'])(
    'does not exist under an id that was never given: %j',
    async (id) => {
      const { sessions, open } = createSessions();
      await open();
      expect(await sessions.find(id, undefined)).toBeUndefined();
      expect(sessions.findLive(id, undefined)).toBeUndefined();
    },
  );

  it('leaves no trace when the store refuses to keep it', async () => {
    const store = Object.assign(new MemorySessionStore(), { create: async () => Promise.reject(new Error('full')) });
    const { sessions, ends, open } = createSessions({ store, maxSessions: 1 });
    await expect(open()).rejects.toThrow('full');
    await expect(open()).rejects.toThrow('full');
    expect([sessions.size, ends]).toEqual([0, []]);
  });
});

describe('a session that another process opened', () => {
  async function stored(changes: Partial<SessionRecord> = {}) {
    const store = new MemorySessionStore();
    store.create(createRecord('elsewhere', changes));
    return createSessions({ store });
  }

  it('is found through the store, by its own principal', async () => {
    const { sessions } = await stored({ principal: 'alice', logLevel: 'error' });
    expect(await sessions.find('elsewhere', 'bob')).toBeUndefined();
    const found = await sessions.find('elsewhere', 'alice');
    expect(found?.record.logLevel).toBe('error');
    expect(await sessions.find('elsewhere', 'alice')).toBe(found);
  });

  it('is one session, however many requests look for it at once', async () => {
    const { sessions } = await stored();
    const found = await Promise.all(Array.from({ length: 5 }, () => sessions.find('elsewhere', undefined)));
    expect(new Set(found).size).toBe(1);
    expect(sessions.size).toBe(1);
  });
});

describe('the end of a session', () => {
  it('is told once, with the first reason', async () => {
    const { sessions, ends, open } = createSessions();
    const session = (await open())!;
    await Promise.all([sessions.end(session, 'client'), sessions.end(session, 'idle')]);
    await sessions.end(session, 'shutdown');
    expect(ends).toEqual([{ id: session.record.id, reason: 'client' }]);
    expect(session.endReason).toBe('client');
  });

  it('holds while the store is still busy forgetting it', async () => {
    const { store, release } = createSlowStore();
    const { sessions, open } = createSessions({ store });
    const opening = open();
    release();
    const session = (await opening)!;
    const ending = sessions.end(session, 'client');
    expect(await sessions.find(session.record.id, undefined)).toBeUndefined();
    release();
    await ending;
    expect(await sessions.find(session.record.id, undefined)).toBeUndefined();
    expect(sessions.size).toBe(0);
  });

  it('is real although the store fails, and the failure is told', async () => {
    const store = Object.assign(new MemorySessionStore(), { delete: async () => Promise.reject(new Error('gone')) });
    const { sessions, ends, open } = createSessions({ store });
    const session = (await open())!;
    await expect(sessions.end(session, 'client')).rejects.toThrow('gone');
    expect([ends.length, sessions.size]).toEqual([1, 0]);
  });

  it('comes to all when the mount closes', async () => {
    const { sessions, ends, open } = createSessions();
    await Promise.all([open(), open('alice'), open('bob')]);
    await sessions.endAll('shutdown');
    expect([sessions.size, ends.map(({ reason }) => reason)]).toEqual([0, ['shutdown', 'shutdown', 'shutdown']]);
  });
});

describe('idle sessions', () => {
  it('end after idleMs, no earlier', async () => {
    const { sessions, ends, open } = createSessions({ idleMs: 10 * minute });
    const session = (await open())!;
    jest.advanceTimersByTime(10 * minute - 1);
    await sessions.sweep(Date.now());
    expect(ends).toEqual([]);
    jest.advanceTimersByTime(1);
    await sessions.sweep(Date.now());
    expect(ends).toEqual([{ id: session.record.id, reason: 'idle' }]);
    expect(await sessions.find(session.record.id, undefined)).toBeUndefined();
  });

  it('are not those whose client was heard of meanwhile', async () => {
    const { sessions, open } = createSessions({ idleMs: 10 * minute });
    const { record } = (await open())!;
    jest.advanceTimersByTime(9 * minute);
    sessions.findLive(record.id, undefined);
    jest.advanceTimersByTime(9 * minute);
    await sessions.sweep(Date.now());
    expect(sessions.size).toBe(1);
  });

  it.each(['call', 'question', 'stream'])('are not those with something open: %s', async (what) => {
    const { sessions, open } = createSessions({ idleMs: minute });
    const session = (await open())!;
    if (what === 'call') session.addCall({ requestId: 1, cancel() {}, sessionEnded() {} });
    if (what === 'question') session.addQuestion('q', () => undefined);
    if (what === 'stream') session.standalone.attach(createSink());
    jest.advanceTimersByTime(60 * minute);
    await sessions.sweep(Date.now());
    expect(sessions.size).toBe(1);
  });
});

describe('at the cap', () => {
  it('there is no room, and room again when one ends', async () => {
    const { sessions, open } = createSessions({ maxSessions: 2 });
    const first = (await open())!;
    await open();
    expect([sessions.hasRoom(undefined), await open()]).toEqual([false, undefined]);
    await sessions.end(first, 'client');
    expect(sessions.hasRoom(undefined)).toBe(true);
    expect(await open()).toBeDefined();
    expect(sessions.size).toBe(2);
  });

  it('the one that has been idle for longest makes room, after a minute', async () => {
    const { sessions, ends, open } = createSessions({ maxSessions: 2 });
    const first = (await open())!;
    jest.advanceTimersByTime(1);
    const second = (await open())!;
    jest.advanceTimersByTime(1);
    sessions.findLive(first.record.id, undefined);
    jest.advanceTimersByTime(minute - 2);
    expect(await open()).toBeUndefined();
    jest.advanceTimersByTime(1);
    expect(await open()).toBeDefined();
    expect(ends).toEqual([{ id: second.record.id, reason: 'evicted' }]);
  });

  it('one with something running makes no room, however old', async () => {
    const { ends, open } = createSessions({ maxSessions: 2 });
    const busy = (await open())!;
    busy.addCall({ requestId: 1, cancel() {}, sessionEnded() {} });
    const listening = (await open())!;
    listening.standalone.attach(createSink());
    jest.advanceTimersByTime(60 * minute);
    expect([await open(), ends]).toEqual([undefined, []]);
  });

  it('one whose stream nobody reads any more makes room', async () => {
    const { ends, open } = createSessions({ maxSessions: 1 });
    const dead = (await open())!;
    dead.standalone.attach(Object.assign(createSink(), { dead: true }));
    jest.advanceTimersByTime(minute);
    expect(await open()).toBeDefined();
    expect(ends).toEqual([{ id: dead.record.id, reason: 'evicted' }]);
  });

  it('whether there is room is only asked, nothing is done for it', async () => {
    const { sessions, ends, open } = createSessions({ maxSessions: 1 });
    await open();
    jest.advanceTimersByTime(minute);
    expect([sessions.hasRoom(undefined), ends]).toEqual([true, []]);
  });

  it('a store that fails to forget the evicted one does not hurt the new one, and is told of', async () => {
    const gone = new Error('gone');
    const store = Object.assign(new MemorySessionStore(), { delete: async () => Promise.reject(gone) });
    const { errors, open } = createSessions({ store, maxSessions: 1 });
    await open();
    jest.advanceTimersByTime(minute);
    expect(await open()).toBeDefined();
    await Promise.resolve();
    expect(errors).toEqual([gone]);
  });

  it('of one principal, the others still have room', async () => {
    const { open } = createSessions({ maxSessionsPerPrincipal: 1 });
    expect(await open('alice')).toBeDefined();
    expect(await open('alice')).toBeUndefined();
    expect(await open('bob')).toBeDefined();
  });

  it('of one principal, it is a session of theirs that makes room', async () => {
    const { ends, open } = createSessions({ maxSessionsPerPrincipal: 1 });
    await open('bob');
    jest.advanceTimersByTime(1);
    const mine = (await open('alice'))!;
    jest.advanceTimersByTime(minute);
    expect(await open('alice')).toBeDefined();
    expect(ends.map(({ id }) => id)).toEqual([mine.record.id]);
  });

  it('of one principal, their place is free again when a session ends', async () => {
    const { sessions, open } = createSessions({ maxSessionsPerPrincipal: 1 });
    for (let n = 0; n < 3; n++) await sessions.end((await open('alice'))!, 'client');
    expect(await open('alice')).toBeDefined();
  });

  it('callers without a principal have no cap of their own', async () => {
    const { sessions, open } = createSessions({ maxSessionsPerPrincipal: 1 });
    await Promise.all([open(), open(), open()]);
    expect(sessions.size).toBe(3);
  });
});
