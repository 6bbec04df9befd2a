/** The live sessions of one node of many: copies of what the shared store holds, made when a request names them. */
import { nanoid } from 'nanoid';
import type { RequestId } from '../protocol/types';
import { forwardAnswer } from './forward-answer';
import { IdleEnds } from './idle-ends';
import { InUse } from './in-use';
import { Session } from './session';
import type { SessionEndReason } from './session';
import type { SessionRecord } from './session-store';
import type { LiveSessions, SessionsOptions } from './sessions';
import { evictableAfterMs } from './sessions';
import { NodeStreams } from './node-streams';
import type { NodeMessage, SharedNotice, SharedPart } from './shared-store';
import type { Stream } from './stream';

/** A copy that nobody has used here for this long goes; the store keeps the session. */
const unloadAfterMs = 60_000;

/** Sessions that are looked up at once. */
const lookUpLimit = 100;

/** How long the store may take to hear the last of what ran here. */
const lastWordsMs = 1_000;

export interface SharedSessionsOptions extends SessionsOptions {
  readonly shared: SharedPart;
  readonly historyMs: number;
  /** Hears every notice of other nodes. */
  readonly hear: (notice: SharedNotice) => void;
}

/** Owns the copies of a mount. Bounded by what is in use; swept by {@link SharedSessions.sweep}; emptied by {@link SharedSessions.endAll}. */
export class SharedSessions implements LiveSessions {
  readonly #options: SharedSessionsOptions;
  readonly #live = new Map<string, Session>();
  readonly #inUse: InUse;
  /** Settles when all records have been read again that have changed elsewhere. */
  #reloading: Promise<unknown> | undefined;
  #sweeping: Promise<void> | undefined;
  readonly #streams: NodeStreams;
  readonly #idleEnds: IdleEnds;

  constructor(options: SharedSessionsOptions) {
    this.#options = options;
    const { shared, streamLimits, idleMs } = options;
    this.#inUse = new InUse({ shared, idleMs, onExpired: (session) => this.#unload(session, 'expired') });
    const { intervalMs } = this.#inUse;
    shared.join({
      maxSessions: options.maxSessions,
      maxSessionsPerPrincipal: options.maxSessionsPerPrincipal,
      // What is in use is reported now and then only, and must not end before its time for that. Stores count whole ones.
      idleMs: Math.ceil(idleMs + intervalMs),
      evictableAfterMs: Math.ceil(evictableAfterMs + intervalMs),
      streamLimit: streamLimits.historyLimit,
      streamBytes: streamLimits.historyBytes,
      historyMs: options.historyMs,
      hear: (message) => this.#hear(message),
      onError: options.onError,
    });
    this.#streams = new NodeStreams({
      shared,
      limits: streamLimits,
      fail: async (session, reason) => void (await this.end(session, reason).catch(options.onError)),
      reload: (session) => this.#read(session),
      onError: options.onError,
      hear: options.hear,
    });
    this.#idleEnds = new IdleEnds({
      shared,
      idleMs,
      onEnd: (record) => {
        const live = this.#live.get(record.id);
        if (live !== undefined) this.#unload(live, 'idle');
        options.onEnd({ record }, 'idle');
      },
      onError: options.onError,
    });
  }

  get size(): number {
    return this.#live.size;
  }

  [Symbol.iterator](): Iterator<Session> {
    return this.#live.values();
  }

  /** The store decides, when the session is opened. */
  hasRoom(): boolean {
    return true;
  }

  async open(wanted: Omit<SessionRecord, 'id'>): Promise<Session | undefined> {
    const record = { ...wanted, id: nanoid() };
    const { opened, evicted } = await this.#options.shared.open(record);
    for (const id of evicted) this.#end(id, 'evicted').catch(this.#options.onError);
    if (!opened) return undefined;
    const session = this.#add(record);
    this.#inUse.isKnown(session, Date.now());
    return session;
  }

  /** Nothing is known for certain without asking the store. */
  findLive(): undefined {
    return undefined;
  }

  async find(id: string, principal: string | undefined): Promise<Session | undefined> {
    const record = await this.#options.store.get(id);
    const live = this.#live.get(id);
    if (record === undefined) {
      if (live !== undefined) this.#unload(live, 'expired');
      return undefined;
    }
    if (record.principal !== principal) return undefined;
    const session = live ?? this.#add(record);
    session.record = record;
    const now = Date.now();
    session.lastActiveAt = now;
    this.#inUse.touch(session, now);
    return session;
  }

  findStream(session: Session, id: string, after: number | undefined): Promise<Stream | undefined> {
    return this.#streams.find(session, id, after);
  }

  /** Say something to every session and every node. */
  publish(notice: SharedNotice): void {
    this.#streams.publish(notice);
  }

  async save(session: Session): Promise<void> {
    await this.#options.store.update(session.record);
  }

  /** The store first: where it is away, nothing has ended, and the caller is told so. */
  async end(session: Session, reason: SessionEndReason): Promise<boolean> {
    if (session.endReason !== undefined) return false;
    try {
      return await this.#end(session.record.id, reason);
    } finally {
      if (reason !== 'client') this.#unload(session, reason);
    }
  }

  /** @returns False if it had ended already, on whichever node. */
  async #end(id: string, reason: SessionEndReason): Promise<boolean> {
    const live = this.#live.get(id);
    const record = await this.#options.shared.end(id, reason);
    if (live !== undefined) this.#unload(live, reason);
    if (record !== undefined) this.#options.onEnd({ record }, reason);
    return record !== undefined;
  }

  /** Keep in the store what is in use; let copies go that are not. A sweep that is under way is not begun again. */
  sweep(now: number): Promise<void> {
    return (this.#sweeping ??= this.#sweep(now).finally(() => (this.#sweeping = undefined)));
  }

  async #sweep(now: number): Promise<void> {
    const idle: Session[] = [];
    const idleMs = this.#options.idleMs + this.#inUse.intervalMs;
    for (const session of this.#live.values()) {
      const idleForMs = now - session.lastActiveAt;
      if (!session.isIdle) this.#inUse.touch(session, now);
      else if (idleForMs >= idleMs) idle.push(session);
      else if (idleForMs >= unloadAfterMs && !session.isHeld) {
        this.#live.delete(session.record.id);
        this.#streams.forget(session);
      }
    }
    let failed: PromiseRejectedResult | undefined;
    while (idle.length > 0) {
      const looks = idle.splice(0, lookUpLimit).map((session) => this.#dropIdle(session));
      failed ??= (await Promise.allSettled(looks)).find((look) => look.status === 'rejected');
    }
    if (failed !== undefined) throw failed.reason;
  }

  /** Idle here; perhaps in use elsewhere. */
  async #dropIdle(session: Session): Promise<void> {
    const { id } = session.record;
    const record = await this.#options.store.get(id);
    if (!session.isIdle || !this.#live.has(id)) return;
    if (record !== undefined && session.isHeld) {
      session.lastActiveAt = Date.now();
      return;
    }
    this.#unload(session, 'idle');
  }

  /** Sessions outlive their nodes: what runs here ends, what is stored stays. */
  async endAll(reason: SessionEndReason): Promise<void> {
    this.#idleEnds.end();
    for (const session of this.#live.values()) session.end(reason);
    await this.#streams.end(lastWordsMs);
    this.#live.clear();
    await this.#options.shared.leave();
  }

  #add(record: SessionRecord): Session {
    const session = new Session(record, this.#options.streamLimits, Date.now());
    const { id } = record;
    const { shared } = this.#options;
    session.elsewhere = {
      node: shared.node,
      answer: (response) => forwardAnswer(shared, id, response),
      cancel: (requestId, reason) => shared.broadcast({ kind: 'cancel', id, requestId, reason: String(reason) }),
      log: (streamId, stream, requestIds) => this.#streams.log(session, streamId, stream, requestIds),
      ask: (json) => this.#streams.ask(session, json),
    };
    this.#live.set(id, session);
    return session;
  }

  #unload(session: Session, reason: SessionEndReason): void {
    const { id } = session.record;
    if (this.#live.get(id) === session) this.#live.delete(id);
    this.#streams.forget(session);
    session.end(reason);
  }

  #hear(message: NodeMessage): void {
    const session = 'id' in message ? this.#live.get(message.id) : undefined;
    switch (message.kind) {
      case 'ended':
        if (session !== undefined) this.#unload(session, message.reason);
        return;
      case 'changed':
        if (session !== undefined) this.#reload(session);
        return;
      case 'notice':
        // Whom it concerns may just have changed, and was told before it.
        if (this.#reloading === undefined) break;
        this.#reloading.then(() => this.#streams.receive(message, session)).catch(this.#options.onError);
        return;
      case 'answer':
        // One that nobody here has asked for.
        Promise.resolve(session?.answer(message.response)).catch(this.#options.onError);
        return;
      case 'cancel':
        session?.cancelHere(message.requestId as RequestId, message.reason);
        return;
      case 'resync':
        for (const live of this.#live.values()) this.#inUse.again(live, Date.now());
    }
    this.#streams.receive(message, session);
  }

  async #read(session: Session): Promise<void> {
    const record = await this.#options.store.get(session.record.id);
    if (record !== undefined) session.record = record;
  }

  #reload(session: Session): void {
    const reading = this.#read(session).catch(() => this.#streams.outdated(session)); // the store has said what is wrong
    const reloading = Promise.all([this.#reloading, reading]);
    this.#reloading = reloading;
    void reloading.then(() => {
      if (this.#reloading === reloading) this.#reloading = undefined;
    });
  }
}
