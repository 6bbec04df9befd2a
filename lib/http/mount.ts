/** One mounted endpoint: its options, what is open and running on it, its clock, its end. */
import type { ServerResponse } from 'node:http';
import type { Notice, ServerCore } from '../core';
import { ErrorCode } from '../protocol/errors';
import type { Session, SessionEndReason } from '../sessions/session';
import { Sessions } from '../sessions/sessions';
import type { EndedSession, LiveSessions } from '../sessions/sessions';
import { SharedSessions } from '../sessions/shared-sessions';
import type { SharedNotice } from '../sessions/shared-store';
import { HttpError } from './http-error';
import type { McpRouterOptions, MountOptions } from './options';
import { Places } from './places';
import { Reports } from './reports';
import { SseSink } from './sse';
import type { SseSinkOptions } from './sse';

/** A reply or a stream: looked at on every tick, and ended when the mount closes. */
export interface Open {
  /** Its place in the list of what is open; the mount's own. */
  place?: number;
  tick(now: number): void;
  /** The mount closes: what only listens ends now, in the way that tells the client most. */
  shutdown(): void;
  /** The grace is over: end with an error, whatever runs. */
  abort(): void;
}

/** What a mount counts; see `stats()`. */
export interface MountStats {
  readonly sessions: number;
  readonly streams: number;
  readonly calls: number;
  readonly parked: number;
  /** Messages waiting in sessions' inboxes. */
  readonly inbox: number;
  /** Notices that were not kept for sessions that have never opened a stream. */
  readonly undeliverable: number;
  readonly sessionsEnded: Readonly<Record<string, number>>;
  readonly requests: Readonly<Record<string, number>>;
}

/** How long a client that is turned away should wait, in seconds. */
const retryAfterSeconds = 5;

/** Owns everything that a mount has open. Its timer runs only while there is something to look after. */
export class Mount {
  readonly sessions: LiveSessions;
  readonly reports: Reports;
  readonly calls: Places;
  readonly parked: Places;
  /** Streams that clients hold open to listen: GET and `subscriptions/listen`. */
  readonly listening: Places;
  readonly #open: Open[] = [];
  /** The streams whose sockets are still there. */
  readonly #streams = new Set<SseSink>();
  #timer: NodeJS.Timeout | undefined;
  #nextSweepAt = 0;
  #closing: Promise<void> | undefined;
  #onQuiet: (() => void) | undefined;
  /** Where approvals were spent before this mount. */
  readonly #spentBefore: ServerCore['spent'];

  constructor(
    readonly core: ServerCore,
    readonly options: MountOptions,
    hooks: McpRouterOptions,
  ) {
    this.reports = new Reports(core, hooks);
    this.calls = new Places(options.maxCalls, options.maxCallsPerPrincipal);
    this.parked = new Places(options.maxParked, options.maxParkedPerPrincipal);
    this.listening = new Places(options.maxStreams, options.maxStreamsPerPrincipal);
    const { shared } = options.sessions;
    const limits = {
      store: options.sessions,
      maxSessions: options.maxSessions,
      maxSessionsPerPrincipal: options.maxSessionsPerPrincipal,
      idleMs: options.sessionIdleMs,
      streamLimits: {
        waitingLimit: options.inboxLimit,
        waitingBytes: options.inboxBytes,
        historyLimit: options.historyLimit,
        historyBytes: options.historyBytes,
      },
      onEnd: (session: EndedSession, reason: SessionEndReason) => this.reports.sessionEnded(session, reason),
      onError: (error: unknown) => this.reports.onError(error),
    };
    this.sessions =
      shared === undefined
        ? new Sessions(limits)
        : new SharedSessions({
            ...limits,
            shared,
            historyMs: options.historyMs,
            hear: (notice) => this.#heardElsewhere(notice),
          });
    // Whatever door an approval comes in through: it is used once on all nodes.
    this.#spentBefore = core.spent;
    if (shared !== undefined) core.spent = shared;
    core.listeners.add(this.#hear);
  }

  get closing(): boolean {
    return this.#closing !== undefined;
  }

  /** Look after `open` on every tick until {@link Mount.remove}. */
  add(open: Open): void {
    open.place = this.#open.push(open) - 1;
    this.startClock();
  }

  remove(open: Open): void {
    const last = this.#open.at(-1);
    if (open.place === undefined || last === undefined) return;
    // The last one moves up.
    this.#open[open.place] = last;
    last.place = open.place;
    this.#open.pop();
    open.place = undefined;
    if (this.#isQuiet) this.#onQuiet?.();
  }

  /** Answer with a stream. It is looked after until its socket has gone. */
  openStream(res: ServerResponse, options: SseSinkOptions): SseSink {
    this.reports.countRequest(200);
    const sink = new SseSink(res, this.options, options, (gone) => {
      this.#streams.delete(gone);
      if (this.#isQuiet) this.#onQuiet?.();
    });
    this.#streams.add(sink);
    this.startClock();
    return sink;
  }

  get #isQuiet(): boolean {
    return this.#open.length === 0 && this.#streams.size === 0;
  }

  /** @throws {HttpError} 503 or 429 at a cap; 503 for what came in before {@link Mount.close} and has waited since. */
  enterCall(principal: string | undefined, session: Session | undefined): Places {
    if (this.#closing !== undefined) throw shuttingDown();
    if (session !== undefined && session.callCount >= this.options.maxCallsPerSession)
      throw tryLater(429, 'Too many calls of this session are running');
    if (!this.calls.enter(principal)) throw noPlace(this.calls, principal, 'calls are running');
    return this.calls;
  }

  /** The same. */
  enterListening(principal: string | undefined): Places {
    if (this.#closing !== undefined) throw shuttingDown();
    if (!this.listening.enter(principal)) throw noPlace(this.listening, principal, 'streams are open');
    return this.listening;
  }

  /** @throws {HttpError} 503 at a cap, with no session idle for long enough to make room. */
  checkRoom(principal: string | undefined): void {
    if (!this.sessions.hasRoom(principal)) throw tryLater(503, 'Too many sessions are open');
  }

  /** Tell a session something that no reply carries. Full means that the session fails. */
  tell(session: Session, json: string, mergeKey?: string): boolean {
    if (!session.listened && mergeKey === undefined) {
      this.reports.countUndeliverable();
      return false;
    }
    if (session.elsewhere !== undefined) return session.elsewhere.tell(json, mergeKey);
    if (session.standalone.send(json, mergeKey)) return true;
    // A session that never listens is not failed for notices that it cannot know of.
    if (session.listened) this.endSession(session, 'inbox-full');
    else this.reports.countUndeliverable();
    return false;
  }

  /** End a session without waiting for its store. */
  endSession(session: Session, reason: SessionEndReason): void {
    this.sessions.end(session, reason).catch((error: unknown) => this.reports.onError(error));
  }

  /** Other nodes' notices are for whoever listens here, and go no further. */
  #heardElsewhere(notice: SharedNotice): void {
    const heard = { ...notice, elsewhere: true };
    for (const listener of this.core.listeners) listener(heard);
  }

  readonly #hear = (notice: Notice): void => {
    if (this.sessions instanceof SharedSessions) {
      if (notice.elsewhere !== true) this.sessions.publish(notice);
      return;
    }
    if (!this.options.serverMessages) return;
    const { message, mergeKey } = notice;
    let json: string | undefined;
    for (const session of this.sessions) {
      if (session.wants(notice)) this.tell(session, (json ??= JSON.stringify(message)), mergeKey);
    }
  };

  /** Run the clock; it stops by itself when nothing is open and no session lives. */
  startClock(): void {
    const { keepAliveMs, sessionIdleMs } = this.options;
    // Often enough for either, never more than fifty times a second.
    this.#timer ??= setInterval(
      () => this.#tick(),
      Math.max(20, Math.min(1_000, keepAliveMs / 4, sessionIdleMs / 4)),
    ).unref();
  }

  #tick(): void {
    const now = Date.now();
    // Backwards: whatever moves up meanwhile has had its turn.
    for (let at = this.#open.length - 1; at >= 0; at -= 1) this.#open[at]?.tick(now);
    for (const stream of this.#streams) stream.tick(now);
    if (now >= this.#nextSweepAt) {
      this.#nextSweepAt = now + Math.min(30_000, this.options.sessionIdleMs / 4, this.options.historyMs / 4);
      for (const session of this.sessions) session.dropFinished(now - this.options.historyMs);
      this.sessions.sweep(now).catch((error: unknown) => this.reports.onError(error));
    }
    if (this.#isQuiet && this.sessions.size === 0) this.#stopClock();
  }

  #stopClock(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  stats(): MountStats {
    let inbox = 0;
    for (const session of this.sessions) inbox += session.waiting;
    return {
      sessions: this.sessions.size,
      streams: this.#streams.size,
      calls: this.calls.total,
      parked: this.parked.total,
      inbox,
      ...this.reports.counts,
    };
  }

  /** Let running calls finish within the grace, then end everything. Again: the same promise. */
  close(graceMs: number): Promise<void> {
    return (this.#closing ??= this.#close(graceMs));
  }

  async #close(graceMs: number): Promise<void> {
    this.core.listeners.delete(this.#hear);
    // Answers can no longer come in: what waits for one is denied.
    for (const session of this.sessions) session.leaveUnanswered();
    for (const open of [...this.#open]) open.shutdown();
    if (!this.#isQuiet) await this.#quiet(graceMs);
    for (const open of [...this.#open]) open.abort();
    await this.sessions.endAll('shutdown');
    for (const stream of this.#streams) stream.cut();
    this.#stopClock();
    const { shared } = this.options.sessions;
    if (shared !== undefined && this.core.spent === shared) this.core.spent = this.#spentBefore;
  }

  /** Until nothing runs and nothing waits to be read, or the time is over. */
  async #quiet(limitMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      timer = setTimeout(resolve, limitMs);
      this.#onQuiet = resolve;
    });
    clearTimeout(timer);
    this.#onQuiet = undefined;
  }
}

function noPlace(places: Places, principal: string | undefined, what: string): HttpError {
  const mine = places.of(principal) >= places.limitPerPrincipal;
  return tryLater(mine ? 429 : 503, `Too many ${mine ? 'of your ' : ''}${what}`);
}

export function shuttingDown(): HttpError {
  return tryLater(503, 'The server is shutting down');
}

/** A refusal that may be over soon. */
export function tryLater(status: 429 | 503, message: string): HttpError {
  return new HttpError(status, ErrorCode.InvalidRequest, message, { headers: { 'Retry-After': retryAfterSeconds } });
}
