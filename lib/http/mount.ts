/** One mounted endpoint: its options, what is open and running on it, its clock, its end. */
import type { ServerResponse } from 'node:http';
import type { Notice, ServerCore } from '../core';
import type { Session, SessionEndReason } from '../sessions/session';
import { Sessions } from '../sessions/sessions';
import type { EndedSession, LiveSessions } from '../sessions/sessions';
import { SharedSessions } from '../sessions/shared-sessions';
import type { SharedNotice } from '../sessions/shared-store';
import { shuttingDown, tryLater } from './http-error';
import type { HttpError } from './http-error';
import type { McpRouterOptions, MountOptions } from './options';
import { Places } from './places';
import { Reports } from './reports';
import { SseSink } from './sse';
import type { SseSinkOptions } from './sse';
import { Watch } from './watch';

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

/** Owns everything that a mount has open. */
export class Mount {
  readonly sessions: LiveSessions;
  readonly reports: Reports;
  readonly calls: Places;
  readonly parked: Places;
  /** Streams that clients hold open to listen: GET and `subscriptions/listen`. */
  readonly listening: Places;
  readonly watch: Watch;
  #nextSweepAt = 0;
  #closing: Promise<void> | undefined;
  /** Where approvals were spent before this mount. */
  readonly #spentBefore: ServerCore['spent'];

  constructor(
    readonly core: ServerCore,
    readonly options: MountOptions,
    hooks: McpRouterOptions,
  ) {
    this.reports = new Reports(core, hooks);
    this.watch = new Watch(options, (now) => this.#sweep(now));
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

  /** Answer with a stream. It is looked after until its socket has gone. */
  openStream(res: ServerResponse, options: SseSinkOptions): SseSink {
    this.reports.countRequest(200);
    const sink = new SseSink(res, this.options, options, (gone) => this.watch.streamGone(gone));
    this.watch.addStream(sink);
    return sink;
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

  /** Tell a session of this node alone something that no reply carries. Full means that the session fails. */
  tell(session: Session, json: string, mergeKey?: string): boolean {
    if (!session.listened && mergeKey === undefined) {
      this.reports.countUndeliverable();
      return false;
    }
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

  /** @returns Whether a session lives: then the clock goes on. */
  #sweep(now: number): boolean {
    if (now >= this.#nextSweepAt) {
      const { sessionIdleMs, historyMs } = this.options;
      this.#nextSweepAt = now + Math.min(30_000, sessionIdleMs / 4, historyMs / 4);
      for (const session of this.sessions) session.dropFinished(now - historyMs);
      this.sessions.sweep(now).catch((error: unknown) => this.reports.onError(error));
    }
    return this.sessions.size > 0;
  }

  stats(): MountStats {
    let inbox = 0;
    for (const session of this.sessions) inbox += session.waiting;
    return {
      sessions: this.sessions.size,
      streams: this.watch.streams,
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
    await this.watch.end(graceMs, () => this.sessions.endAll('shutdown'));
    const { shared } = this.options.sessions;
    if (shared !== undefined && this.core.spent === shared) this.core.spent = this.#spentBefore;
  }
}

function noPlace(places: Places, principal: string | undefined, what: string): HttpError {
  const mine = places.of(principal) >= places.limitPerPrincipal;
  return tryLater(mine ? 429 : 503, `Too many ${mine ? 'of your ' : ''}${what}`);
}
