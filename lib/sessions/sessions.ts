/** The live sessions of one mount: opened, found, bounded, ended. */
import { nanoid } from 'nanoid';
import { Session, standaloneStreamId } from './session';
import type { SessionEndReason } from './session';
import type { SessionRecord, SessionStore } from './session-store';
import type { Stream, StreamLimits } from './stream';

/** At a cap, a session that has been idle for this long makes room. */
export const evictableAfterMs = 60_000;

/** What is left to say of a session. */
export interface EndedSession {
  readonly record: Pick<SessionRecord, 'id' | 'principal'>;
}

export interface SessionsOptions {
  readonly store: SessionStore;
  /** Sessions at once; in all and per principal. */
  readonly maxSessions: number;
  readonly maxSessionsPerPrincipal: number;
  /** Idle time after which a session ends. */
  readonly idleMs: number;
  readonly streamLimits: StreamLimits;
  /** Hears of every session's end, once. */
  readonly onEnd: (session: EndedSession, reason: SessionEndReason) => void;
  /** Hears of what the store failed to do for nobody in particular. */
  readonly onError: (error: unknown) => void;
}

/** The sessions that a mount works with, wherever they are kept. */
export interface LiveSessions extends Iterable<Session> {
  readonly size: number;
  open(record: Omit<SessionRecord, 'id'>): Promise<Session | undefined>;
  find(id: string, principal: string | undefined): Promise<Session | undefined>;
  findLive(id: string, principal: string | undefined): Session | undefined;
  hasRoom(principal: string | undefined): boolean;
  /** The stream of this id, to be read here. @param after What the client has seen, where it resumes. */
  findStream(session: Session, id: string, after: number | undefined): Stream | undefined | Promise<Stream | undefined>;
  save(session: Session): Promise<void>;
  /** @returns False if it had ended already. */
  end(session: Session, reason: SessionEndReason): Promise<boolean>;
  sweep(now: number): Promise<void>;
  endAll(reason: SessionEndReason): Promise<void>;
}

/** Owns every session of a mount. Bounded by its caps; swept by {@link Sessions.sweep}; emptied by {@link Sessions.endAll}. */
export class Sessions implements LiveSessions {
  readonly #options: SessionsOptions;
  readonly #live = new Map<string, Session>();
  readonly #perPrincipal = new Map<string, number>();
  /** Ended here, and perhaps still in the store; each leaves when the store has answered. */
  readonly #ending = new Set<string>();

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#live.size;
  }

  [Symbol.iterator](): Iterator<Session> {
    return this.#live.values();
  }

  /** Open a session. @returns Undefined at a cap, with no session idle for long enough to make room. */
  async open(record: Omit<SessionRecord, 'id'>): Promise<Session | undefined> {
    if (!this.#makeRoom(record.principal)) return undefined;
    const { revision, principal, clientInfo, capabilities, initialized, logLevel, subscriptions } = record;
    // Field by field: a copy by `...` keeps what it adds apart, and there may be a million of these.
    const session = this.#add({
      id: nanoid(),
      revision,
      principal,
      clientInfo,
      capabilities,
      initialized,
      logLevel,
      subscriptions,
    });
    try {
      await this.#options.store.create(session.record);
    } catch (error) {
      this.#forget(session);
      throw error;
    }
    return session;
  }

  /** The session of this id, if it is this principal's: another's does not exist, as far as they can tell. */
  async find(id: string, principal: string | undefined): Promise<Session | undefined> {
    const session = this.#live.get(id) ?? (await this.#load(id, principal));
    if (session === undefined || session.record.principal !== principal) return undefined;
    session.lastActiveAt = Date.now();
    return session;
  }

  /** The session of this id if it is live here: without asking the store, and without waiting. */
  findLive(id: string, principal: string | undefined): Session | undefined {
    const session = this.#live.get(id);
    if (session === undefined || session.record.principal !== principal) return undefined;
    session.lastActiveAt = Date.now();
    return session;
  }

  findStream(session: Session, id: string): Stream | undefined {
    return id === standaloneStreamId ? session.standalone : session.findStream(id);
  }

  async save(session: Session): Promise<void> {
    await this.#options.store.update(session.record);
  }

  /** End a session: the same road for DELETE, idleness, eviction and shutdown. */
  async end(session: Session, reason: SessionEndReason): Promise<boolean> {
    if (session.endReason !== undefined) return false;
    this.#forget(session);
    session.end(reason);
    this.#options.onEnd(session, reason);
    const { id } = session.record;
    this.#ending.add(id);
    try {
      await this.#options.store.delete(id);
    } finally {
      this.#ending.delete(id);
    }
    return true;
  }

  /** End what has been idle for too long. */
  async sweep(now: number): Promise<void> {
    const idle = [...this.#live.values()].filter(
      (session) => now - session.lastActiveAt >= this.#options.idleMs && session.isIdle,
    );
    await Promise.all(idle.map((session) => this.end(session, 'idle')));
  }

  async endAll(reason: SessionEndReason): Promise<void> {
    const { onError } = this.#options;
    await Promise.all([...this.#live.values()].map((session) => this.end(session, reason).catch(onError)));
  }

  async #load(id: string, principal: string | undefined): Promise<Session | undefined> {
    if (this.#ending.has(id)) return undefined;
    const record = await this.#options.store.get(id);
    // Another's is not made live by asking for it: it would count here, and end here.
    if (record === undefined || record.principal !== principal || this.#ending.has(id)) return undefined;
    // Another request may have loaded it meanwhile.
    return this.#live.get(id) ?? this.#add(record);
  }

  #add(record: SessionRecord): Session {
    const session = new Session(record, this.#options.streamLimits, Date.now());
    this.#live.set(record.id, session);
    if (record.principal !== undefined) this.#count(record.principal, 1);
    return session;
  }

  #forget({ record: { id, principal } }: Session): void {
    if (this.#live.delete(id) && principal !== undefined) this.#count(principal, -1);
  }

  #count(principal: string, change: number): void {
    const count = (this.#perPrincipal.get(principal) ?? 0) + change;
    if (count === 0) this.#perPrincipal.delete(principal);
    else this.#perPrincipal.set(principal, count);
  }

  /** Would {@link Sessions.open} open a session for this principal right now? */
  hasRoom(principal: string | undefined): boolean {
    return this.#room(principal) !== 'full';
  }

  #makeRoom(principal: string | undefined): boolean {
    const room = this.#room(principal);
    // Its place is free at once; the store's is when it answers.
    if (room instanceof Session) this.end(room, 'evicted').catch(this.#options.onError);
    return room !== 'full';
  }

  /** The session that has to go for another one of this principal, where one has to and may. */
  #room(principal: string | undefined): 'free' | 'full' | Session {
    const { maxSessions, maxSessionsPerPrincipal } = this.#options;
    const mine = principal === undefined ? 0 : (this.#perPrincipal.get(principal) ?? 0);
    if (mine >= maxSessionsPerPrincipal)
      return this.#oldestIdle((session) => session.record.principal === principal) ?? 'full';
    return this.#live.size < maxSessions ? 'free' : (this.#oldestIdle(() => true) ?? 'full');
  }

  #oldestIdle(candidate: (session: Session) => boolean): Session | undefined {
    let oldest: Session | undefined;
    const idleSince = Date.now() - evictableAfterMs;
    for (const session of this.#live.values()) {
      if (session.lastActiveAt > Math.min(idleSince, oldest?.lastActiveAt ?? idleSince)) continue;
      if (candidate(session) && session.isIdle) oldest = session;
    }
    return oldest;
  }
}
