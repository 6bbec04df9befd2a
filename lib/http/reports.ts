/** What those who run a mount hear and see of it: hooks, log lines, counters. */
import type { IncomingMessage } from 'node:http';
import type { ServerCore } from '../core';
import { quietly } from '../quietly';
import type { Session, SessionEndReason } from '../sessions/session';
import type { EndedSession } from '../sessions/sessions';
import type { HttpError } from './http-error';
import type { McpRouterOptions } from './options';

/** Calls what the author has hooked in, and counts. Whatever a hook does, it stays here. */
export class Reports {
  readonly onError: NonNullable<McpRouterOptions['onError']>;
  readonly #onReject: NonNullable<McpRouterOptions['onReject']>;
  readonly #onSessionEnd: NonNullable<McpRouterOptions['onSessionEnd']>;
  readonly #logger: McpRouterOptions['logger'];
  readonly #sessionsEnded: Record<string, number> = {};
  readonly #requests: Record<string, number> = {};
  #undeliverable = 0;

  constructor(core: ServerCore, { onError, onReject, onSessionEnd, logger }: McpRouterOptions) {
    const tell = onError === undefined ? core.onError : quietly(onError);
    this.onError = (error, context) => {
      this.log('error', { err: error, method: context?.method }, 'fault');
      tell(error, context);
    };
    this.#onReject = quietly(onReject ?? (() => undefined));
    this.#onSessionEnd = quietly(onSessionEnd ?? (() => undefined));
    this.#logger = logger;
  }

  /** How often what happened, so far. */
  get counts() {
    return {
      undeliverable: this.#undeliverable,
      sessionsEnded: { ...this.#sessionsEnded },
      requests: { ...this.#requests },
    };
  }

  /** A notification was for a client that could not take it. */
  countUndeliverable(): void {
    this.#undeliverable += 1;
  }

  countRequest(status: number): void {
    this.#requests[status] = (this.#requests[status] ?? 0) + 1;
  }

  /** A request is refused; the answer is the caller's. */
  reject(refusal: HttpError, req: IncomingMessage): void {
    const { status, code, message: reason } = refusal;
    this.countRequest(status);
    this.log('warn', { status, code, reason, method: req.method }, 'request refused');
    if (status === 500) this.onError(refusal.cause ?? refusal);
    else this.#onReject(refusal, req);
  }

  sessionOpened({ record: { id, principal, revision } }: Session): void {
    this.log('info', { sessionId: id.slice(0, 6), principal, revision }, 'session opened');
  }

  sessionEnded({ record: { id, principal } }: EndedSession, reason: SessionEndReason): void {
    this.#sessionsEnded[reason] = (this.#sessionsEnded[reason] ?? 0) + 1;
    this.#onSessionEnd({ sessionId: id, principal, reason });
    this.log('info', { sessionId: id.slice(0, 6), principal, reason }, 'session ended');
  }

  /** Messages are ours, word by word; what clients say is in the record, where the logger escapes it. */
  log(level: 'info' | 'warn' | 'error', record: object, message: string): void {
    if (this.#logger !== undefined) quietly(() => this.#logger![level](record, message))();
  }
}
