/** All a handler may know or do during one call. */
import { setMaxListeners } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Notice, ServerCore } from './core';
import type { AuthInfo } from './protocol/auth-info';
import { ErrorCode, McpError } from './protocol/errors';
import type { Revision } from './protocol/revisions';
import type { Schema } from './protocol/schema';
import type { InferOutput } from './protocol/standard-schema';
import { loggingLevels } from './protocol/types';
import type {
  ClientCapabilities,
  CreateMessageRequestParams,
  CreateMessageResult,
  Era,
  Implementation,
  JsonRpcNotification,
  JsonRpcRequest,
  ListRootsResult,
  LoggingLevel,
  Meta,
  ProgressToken,
  RequestId,
} from './protocol/types';
import type { Rounds } from './authorizer/rounds';
import type { Session } from './sessions/session';
import type { SessionRecord } from './sessions/session-store';

/** How messages travel, as the server knows it. */
export type Transport = 'http' | 'stdio' | 'memory';

/** A form to fill in, or a page to open. */
export type ElicitQuestion<S extends Schema> = { message: string; schema: S } | { message: string; url: string };

/** The user's answer; `content` has passed the asked schema. */
export type ElicitAnswer<S> =
  { action: 'accept'; content: InferOutput<S> } | { action: 'decline' | 'cancel'; content?: undefined };

/** What a handler, an authorizer and a provider are given: who calls, with what, and what can be done meanwhile. */
export interface Context {
  readonly requestId: RequestId | undefined;
  readonly method: string;
  readonly era: Era;
  /** The protocol revision of this request, for example `2025-11-25`. */
  readonly revision: string;
  readonly transport: Transport;
  /** Legacy only. */
  readonly sessionId: string | undefined;
  /** Who calls, as the host's authentication found; never what the client says of itself. */
  readonly principal: string | undefined;
  readonly auth: AuthInfo | undefined;
  /** What the client says of itself: for display, never for decisions. */
  readonly clientInfo: Implementation | undefined;
  readonly clientCapabilities: ClientCapabilities;
  /** The HTTP request, as the app's middleware left it; none over other transports. */
  readonly request: IncomingMessage | undefined;
  /** Names this call in progress notifications, if the client wants any. */
  readonly progressToken: ProgressToken | undefined;
  /** The request's `_meta`. */
  readonly meta: Meta;
  /** Aborts when the client cancels, the time limit passes, or the server closes. */
  readonly signal: AbortSignal;
  /** The answers to the extra fields that the authorizer's `elicit` asked for. */
  readonly approval: Readonly<Record<string, unknown>> | undefined;
  /**
   * Tell the client how far the call is. Without a token, with a value that is not larger than the last, or after the
   * end, nothing is sent.
   *
   * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress
   */
  progress(progress: number, total?: number, message?: string): void;
  /**
   * Send a log message, if the client wants this level (legacy: `logging/setLevel`, `info` until then; modern: only
   * when the request says so).
   *
   * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging
   */
  log(level: LoggingLevel, data: unknown, logger?: string): void;
  /**
   * Let the connection of this call go while the call goes on: a client that can resume (2025-11-25, over HTTP) comes
   * back for what is missing, the result included. For long work behind proxies that cut long connections. The result
   * waits as long as the mount's history allows.
   *
   * @returns False if nothing was closed: this client could not come back, and waits on the connection.
   * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
   */
  closeStream(): boolean;
  /**
   * Ask the user. Legacy: waits for the answer. Modern: stops the handler here; it runs again from the top once the
   * client has sent the answer. `key` names the question within the call.
   *
   * @throws {McpError} -32021 if the client cannot be asked this.
   */
  elicit<S extends Schema>(key: string, question: { message: string; schema: S }): Promise<ElicitAnswer<S>>;
  elicit(key: string, question: { message: string; url: string }): Promise<ElicitAnswer<undefined>>;
  /** Ask the client's model, as {@link Context.elicit} asks the user. */
  sample(key: string, params: CreateMessageRequestParams): Promise<CreateMessageResult>;
  /** Ask for the client's roots, as {@link Context.elicit} asks the user. @default key 'roots' */
  listRoots(key?: string): Promise<ListRootsResult>;
  /** Run `fn` once, however often the handler runs again; its JSON result travels along, sealed. */
  once<T>(key: string, fn: () => T | Promise<T>): Promise<T>;
}

/** Counts parked calls, for a mount or a connection. */
export interface ParkedCalls {
  /** Take a place. @returns False if there is none left. */
  enter(principal: string | undefined): boolean;
  leave(principal: string | undefined): void;
}

/** Who sent a message and how to reach them: what a transport gives to `dispatch`. */
export interface Caller {
  readonly transport: Transport;
  readonly principal: string | undefined;
  readonly auth: AuthInfo | undefined;
  readonly request: IncomingMessage | undefined;
  /** Legacy: the session the message belongs to; none for `initialize`. */
  readonly session: Session | undefined;
  /** Messages that belong to no reply reach this client. */
  readonly hearsServer: boolean;
  readonly parked: ParkedCalls;
  /** Time limit of a tool call, where the tool has none. */
  readonly toolTimeoutMs: number | undefined;
  /** Hears of faults instead of the server's own hook. */
  readonly onError?: ServerCore['onError'];
  /** Legacy `initialize`: keep what was agreed. */
  openSession(record: Omit<SessionRecord, 'id' | 'principal'>): void | Promise<void>;
  /** Legacy: the session's record has changed. */
  saveSession(): void | Promise<void>;
  /** Stop a call of this client that runs. */
  cancelCall(id: RequestId, reason: unknown): unknown;
  /** Send something before the reply. @returns False if this client cannot be reached before it. */
  send(message: JsonRpcNotification | JsonRpcRequest): boolean;
  /** Make the reply a stream now, if the client takes one. */
  startStream(): void;
  /** Close the connection of the reply, if the client can resume it. @returns False if it cannot. */
  closeStream?(): boolean;
  /** From now on, tell the call at once when its client goes. */
  watchDisconnect(): void;
  /**
   * Modern `subscriptions/listen`: what is sent from now on is the stream. The result belongs at its end: it is held back
   * until then, or is to be waited for.
   */
  readonly listen?: ((subscription: Subscription) => void | Promise<void>) | undefined;
}

/** What a listen stream wants to hear. */
export interface Subscription {
  readonly id: RequestId;
  readonly acknowledgement: JsonRpcNotification;
  /** Is this what it wants to hear of? */
  readonly wants: (notice: Notice) => boolean;
}

/** What a request says of its client: from `_meta` (modern) or from the session (legacy). */
export interface RequestMeta {
  readonly revision: Revision;
  readonly clientInfo: Implementation | undefined;
  readonly clientCapabilities: ClientCapabilities;
  readonly logLevel: LoggingLevel | undefined;
  readonly progressToken: ProgressToken | undefined;
  readonly meta: Meta;
}

/** Before Node warns of a leak: every open question of a call listens, and the handler may. */
const maxSignalListeners = 64;

/** One call. Made by the transport, handed down the whole road; ends with {@link CallContext.end}. */
export class CallContext implements Context {
  approval: Readonly<Record<string, unknown>> | undefined;
  /** Scopes a denial has asked for: `http/` makes it 403. */
  challenge: Challenge | undefined;
  /** What the call is about, for what is sealed into `requestState`. */
  target: CallTarget | undefined;
  /** Modern: the rounds of questions this call is in; made when the first one is asked or answered. */
  rounds: Rounds | undefined;
  #lastProgress = -Infinity;
  #ended = false;
  #abort: AbortController | undefined;
  #cancelled: { reason: Error } | undefined;
  #expired: Error | undefined;

  constructor(
    readonly core: ServerCore,
    readonly caller: Caller,
    readonly requestMeta: RequestMeta,
    readonly method: string,
    readonly requestId: RequestId | undefined,
  ) {}

  get era(): Era {
    return this.requestMeta.revision.era;
  }
  get revision(): string {
    return this.requestMeta.revision.version;
  }
  get transport(): Transport {
    return this.caller.transport;
  }
  get sessionId(): string | undefined {
    return this.caller.session?.record.id;
  }
  get principal(): string | undefined {
    return this.caller.principal;
  }
  get auth(): AuthInfo | undefined {
    return this.caller.auth;
  }
  get clientInfo(): Implementation | undefined {
    return this.requestMeta.clientInfo;
  }
  get clientCapabilities(): ClientCapabilities {
    return this.requestMeta.clientCapabilities;
  }
  get request(): IncomingMessage | undefined {
    return this.caller.request;
  }
  get progressToken(): ProgressToken | undefined {
    return this.requestMeta.progressToken;
  }
  get meta(): Meta {
    return this.requestMeta.meta;
  }

  /** Made when first looked at: most handlers never do. */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      setMaxListeners(maxSignalListeners, this.#abort.signal);
      const reason = this.#cancelled?.reason ?? this.#expired;
      if (reason !== undefined) this.#abort.abort(reason);
      else this.caller.watchDisconnect();
    }
    return this.#abort.signal;
  }

  get cancelled(): boolean {
    return this.#cancelled !== undefined;
  }

  /** The client, the time limit or the server wants the call to stop. */
  cancel(reason: unknown): void {
    if (this.#ended || this.#cancelled !== undefined) return;
    this.#cancelled = { reason: reason instanceof Error ? reason : new Error(String(reason)) };
    this.#abort?.abort(this.#cancelled.reason);
  }

  /** The time limit has passed: the signal aborts, and the caller still gets its answer. */
  expire(reason: Error): void {
    this.#abort?.abort(reason);
    this.#expired = reason;
  }

  /** Tell the author of a fault that the caller is not told about. */
  fault(error: unknown): void {
    (this.caller.onError ?? this.core.onError)(error, this);
  }

  /** The call has its answer; nothing more is sent for it. */
  end(): void {
    this.#ended = true;
  }

  get ended(): boolean {
    return this.#ended || this.#cancelled !== undefined;
  }

  /** A report that cannot be sent is its author's fault, and no reason for the call to fail. */
  #report(notification: JsonRpcNotification): void {
    try {
      this.caller.send(notification);
    } catch (error) {
      this.fault(error);
    }
  }

  #sendProgress(progress: number, total?: number, message?: string): void {
    const { progressToken, revision } = this.requestMeta;
    // basic/patterns/progress: values increase, and stop after completion. What JSON cannot carry is none.
    if (progressToken === undefined || this.ended || !Number.isFinite(progress) || progress <= this.#lastProgress)
      return;
    this.#lastProgress = progress;
    this.#report({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: {
        progressToken,
        progress,
        ...(Number.isFinite(total) ? { total } : undefined),
        ...(message === undefined || !revision.progressMessage ? undefined : { message }),
      },
    });
  }

  /** While a question waits: a sign of life for clients with a time limit, in the smallest step. */
  waiting(message: string): void {
    const last = this.#lastProgress === -Infinity ? 0 : this.#lastProgress;
    // A step that a large number does not swallow.
    this.progress(last + Math.max(1e-6, Math.abs(last) * Number.EPSILON), undefined, message);
  }

  #sendLog(level: LoggingLevel, data: unknown, logger?: string): void {
    const severity = loggingLevels.indexOf(level);
    if (severity < 0)
      throw new TypeError(`log(level): ${JSON.stringify(level)} is not one of ${loggingLevels.join(', ')}`);
    const wanted = this.requestMeta.logLevel;
    if (wanted === undefined || severity < loggingLevels.indexOf(wanted) || this.ended) return;
    this.#report({
      jsonrpc: '2.0',
      method: 'notifications/message',
      params: { level, ...(logger === undefined ? undefined : { logger }), data: data ?? null },
    });
  }

  // What a handler calls comes bound, so that it may take it out of the context: (args, { progress }) => …

  get progress(): Context['progress'] {
    return (...args) => this.#sendProgress(...args);
  }

  get log(): Context['log'] {
    return (...args) => this.#sendLog(...args);
  }

  get closeStream(): Context['closeStream'] {
    return () => !this.ended && (this.caller.closeStream?.() ?? false);
  }

  get elicit(): Context['elicit'] {
    return (key: string, question: ElicitQuestion<Schema>) =>
      claimed(this.core.ask.elicit(this, key, question)) as Promise<ElicitAnswer<never>>;
  }

  get sample(): Context['sample'] {
    return (key, params) => claimed(this.core.ask.sample(this, key, params));
  }

  get listRoots(): Context['listRoots'] {
    return (key = 'roots') => claimed(this.core.ask.listRoots(this, key));
  }

  get once(): Context['once'] {
    return (key, fn) => claimed(this.core.ask.once(this, key, fn));
  }
}

/**
 * What a handler no longer waits for (a question stopped it first) must not end the process when it fails: the call has
 * its answer already.
 */
function claimed<T>(pending: Promise<T>): Promise<T> {
  pending.catch(() => undefined);
  return pending;
}

/** A denial that a token of more scopes would not have met. */
export interface Challenge {
  readonly scopes: readonly string[];
  /** The denial as an error, for where it is one. */
  readonly error: McpError;
}

/** What a call is about: the answers to its questions belong to it alone. */
export interface CallTarget {
  readonly name: string;
  /** As they came, unparsed. */
  readonly args: unknown;
  readonly inputResponses: unknown;
  readonly requestState: unknown;
}

/** How the questions of a handler reach the client; made by `authorizer/`, which knows the ways of both eras. */
export interface Ask {
  elicit(context: CallContext, key: string, question: ElicitQuestion<Schema>): Promise<ElicitAnswer<unknown>>;
  sample(context: CallContext, key: string, params: CreateMessageRequestParams): Promise<CreateMessageResult>;
  listRoots(context: CallContext, key: string): Promise<ListRootsResult>;
  once<T>(context: CallContext, key: string, fn: () => T | Promise<T>): Promise<T>;
}

/** -32021 for something this client has not declared. */
export function missingCapability(requiredCapabilities: ClientCapabilities, what: string): McpError {
  return new McpError(ErrorCode.MissingRequiredClientCapability, `This needs a client that supports ${what}`, {
    requiredCapabilities,
  });
}
