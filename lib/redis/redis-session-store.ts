/** Sessions in Redis: any process answers any request. */
import { nanoid } from 'nanoid';
import { UnavailableError } from '../protocol/errors';
import { checkDuration } from '../settings';
import { standaloneStreamId } from '../sessions/session';
import type { NodeMessage, Opening, SharedPart, SharedSettings } from '../sessions/shared-store';
import type { SessionRecord, SessionStore } from '../sessions/session-store';
import { Connection } from './connection';
import type { RedisClient } from './connection';
import { createKeys, isSessionId } from './keys';
import type { Keys } from './keys';
import { parseNodeMessage } from './node-message';
import { createPlaces } from './places';
import type { Places } from './places';
import { createRedisStreams } from './redis-streams';
import { decodeRecord, encodeChange, encodeRecord } from './record';
import type { Fields } from './record';
import { changeSession, createSession, endSession, spendNonce, touchSession } from './session-scripts';

/** Options of {@link redisSessions}. */
export interface RedisSessionsOptions {
  /**
   * A client of node-redis 5 or later. Its settings are used for two connections of the store's own, one of which
   * listens; itself it is left alone, and need not be connected.
   */
  client: RedisClient;
  /** Begins every key and channel. One per mount: servers that share it share their sessions. @default 'mcp' */
  prefix?: string;
  /**
   * How long a command may take, in milliseconds, up to 2 ** 31 - 1; then the request that needs it gets 503.
   *
   * @default 2_000
   */
  commandTimeoutMs?: number;
}

const presets: SharedSettings = {
  maxSessions: Infinity,
  maxSessionsPerPrincipal: Infinity,
  idleMs: 1_800_000,
  evictableAfterMs: 60_000,
  streamLimit: 1_000,
  streamBytes: 1024 * 1024,
  historyMs: 60_000,
  hear() {},
  onError() {},
};

/**
 * An approval that was used is remembered for this much longer than it holds: a node whose clock is behind takes it for
 * longer.
 */
const spentForMs = 600_000;

/** A node's store. Ends with the mount it is given to. */
export class RedisSessionStore implements SessionStore {
  readonly shared: SharedPart;
  readonly #redis: Connection;
  readonly #keys: Keys;
  readonly #places: Places;
  #settings: SharedSettings | undefined;
  /** What Redis was last known to hold of a record: only differences are written. Goes with the record. */
  readonly #known = new WeakMap<SessionRecord, SessionRecord>();

  constructor({ client, prefix = 'mcp', commandTimeoutMs = 2_000 }: RedisSessionsOptions) {
    this.#keys = createKeys(prefix);
    const node = nanoid(12);
    this.#redis = new Connection(client, {
      commandTimeoutMs,
      channels: [this.#keys.broadcastChannel, this.#keys.nodeChannel + node],
      hear: (text) => this.#hear(text),
      onSpoiled: (keys) => this.#endSpoiled(keys),
      onReturn: () => this.#limits.hear({ kind: 'resync' }),
      onError: (error) => this.#limits.onError(error),
    });
    // Three commands.
    this.#places = createPlaces(this.#redis, this.#keys, 3 * commandTimeoutMs, () => this.#limits);
    this.shared = {
      node,
      streams: createRedisStreams(this.#redis, this.#keys, node, () => this.#limits),
      join: (settings) => this.#join(settings),
      open: (record) => this.#open(record),
      end: (id, reason) => this.#end(id, { kind: 'ended', id, reason }),
      touch: (record) => this.#touch(record),
      endIdle: () => this.#places.endIdle(),
      spend: (nonce, expiresAt) => this.#spend(nonce, expiresAt),
      send: async (to, message) => {
        const heard = (await this.#redis.publish(this.#keys.nodeChannel + to, JSON.stringify(message))) > 0;
        // In a cluster Redis counts only those that listen at the master that was asked.
        return heard || ('masters' in client && (await this.shared.streams.isAlive(to)));
      },
      broadcast: async (message) => {
        await this.#redis.publish(this.#keys.broadcastChannel, JSON.stringify(message));
      },
      leave: async () => this.#redis.close(),
    };
  }

  get #limits(): SharedSettings {
    return this.#settings ?? presets;
  }

  #join(settings: SharedSettings): void {
    if (this.#settings !== undefined)
      throw new TypeError('redisSessions: one store is for one mount; make another one for the other');
    this.#settings = settings;
  }

  #hear(text: string): void {
    const message = parseNodeMessage(text);
    if (message === undefined) throw new TypeError('a message that is none of ours');
    this.#limits.hear(message);
  }

  async create(record: SessionRecord): Promise<void> {
    await this.#create(record, { q: '0' });
  }

  /** @param state `q`: the last notice that it cannot have missed; `t`: when it was last reported as in use. */
  async #create(record: SessionRecord, state: Fields): Promise<void> {
    const fields = Object.entries({ ...encodeRecord(record), ...state }).flat();
    await this.#redis.run(createSession, [this.#keys.session(record.id)], [this.#limits.idleMs, ...fields]);
    this.#remember(record);
  }

  async get(id: string): Promise<SessionRecord | undefined> {
    if (!isSessionId(id)) return undefined;
    return this.#decode(id, await this.#redis.readHash(this.#keys.session(id)));
  }

  async update(record: SessionRecord): Promise<void> {
    const { set, remove } = encodeChange(this.#known.get(record), record);
    this.#remember(record);
    const message: NodeMessage = { kind: 'changed', id: record.id };
    const fields = Object.entries(set);
    await this.#redis.run(
      changeSession,
      [this.#keys.session(record.id)],
      [this.#keys.nodeChannel, JSON.stringify(message), fields.length, ...fields.flat(), ...remove],
    );
  }

  async delete(id: string): Promise<void> {
    await this.#end(id, { kind: 'ended', id, reason: 'client' });
  }

  #remember(record: SessionRecord): void {
    this.#known.set(record, { ...record });
  }

  #decode(id: string, fields: Fields): SessionRecord | undefined {
    const record = decodeRecord(id, fields);
    if (record !== undefined) this.#remember(record);
    return record;
  }

  async #open(record: SessionRecord): Promise<Opening> {
    try {
      const { taken, seq, evicted } = await this.#places.take(record);
      if (!taken) return { opened: false, evicted: [], seq };
      await this.#create(record, { q: String(seq), t: String(Date.now()) });
      if (!(await this.#places.keep(record))) throw new UnavailableError('Sessions cannot be reached right now');
      return { opened: true, evicted, seq };
    } catch (error) {
      this.#undo(record);
      throw error;
    }
  }

  /** What was sent may still be carried out: this comes after it. Where it does not get through, the place goes by itself. */
  #undo({ id, principal }: SessionRecord): void {
    const ended: NodeMessage = { kind: 'ended', id, reason: 'expired' };
    const args = [this.#keys.broadcastChannel, JSON.stringify(ended)];
    const undone = [this.#redis.run(endSession, this.#sessionKeys(id), args), this.#places.leave(id, principal)];
    for (const each of undone) each.catch(() => undefined);
  }

  #sessionKeys(id: string): string[] {
    const { session, stream, streamState } = this.#keys;
    return [session(id), stream(id, standaloneStreamId), streamState(id, standaloneStreamId)];
  }

  /** A session whose data is none of ours has ended, as far as anybody can tell. */
  async #endSpoiled(keys: readonly string[]): Promise<boolean> {
    const id = this.#keys.sessionOf(keys[0]!);
    if (id === undefined) return false;
    await this.#end(id, { kind: 'ended', id, reason: 'expired' }, keys);
    return true;
  }

  /** @param more Keys that go with it. */
  async #end(id: string, message: NodeMessage, more: readonly string[] = []): Promise<SessionRecord | undefined> {
    if (!isSessionId(id)) return undefined;
    const args = [this.#keys.broadcastChannel, JSON.stringify(message)];
    // HGETALL within Lua: field, value, …
    const flat = (await this.#redis.run(endSession, [...this.#sessionKeys(id), ...more], args)) as string[];
    if (flat.length === 0) return undefined;
    const fields = Object.fromEntries(flat.flatMap((field, n) => (n % 2 === 0 ? [[field, flat[n + 1]!]] : [])));
    const record = decodeRecord(id, fields);
    const owner = await this.#places.leave(id, record?.principal);
    // Whoever's it was, if that could not be read.
    if (record === undefined && owner !== undefined) await this.#places.leave(id, owner);
    return record;
  }

  async #touch(record: SessionRecord): Promise<boolean> {
    const lives = [this.#limits.idleMs, Date.now()];
    if ((await this.#redis.run(touchSession, this.#sessionKeys(record.id), lives)) !== 1) return false;
    await this.#places.keep(record);
    return true;
  }

  async #spend(nonce: string, expiresAt: number): Promise<boolean> {
    if (!(Date.now() < expiresAt)) return false;
    return (await this.#redis.run(spendNonce, [this.#keys.spent(nonce)], [Math.ceil(expiresAt) + spentForMs])) === 1;
  }
}

/**
 * Keep sessions in Redis 7 (or Valkey), shared by all processes that use the same `prefix`: behind any balancer, without
 * sticky routing.
 *
 * @example
 * mcpRouter(server, { sessions: redisSessions({ client: createClient({ url: process.env.REDIS_URL }) }) });
 * @throws {TypeError | RangeError} for an option that makes no sense.
 */
export function redisSessions(options: RedisSessionsOptions): RedisSessionStore {
  const { client, prefix = 'mcp', commandTimeoutMs = 2_000 } = options;
  if (typeof client?.duplicate !== 'function')
    throw new TypeError('redisSessions: client must be a client of node-redis, for example createClient({ url })');
  if (typeof prefix !== 'string' || !/^[\w:.-]{1,64}$/.test(prefix))
    throw new TypeError(
      `redisSessions: prefix must be letters, digits, "_", ":", "." and "-", got ${JSON.stringify(prefix)}`,
    );
  checkDuration('redisSessions: commandTimeoutMs', commandTimeoutMs);
  return new RedisSessionStore(options);
}
