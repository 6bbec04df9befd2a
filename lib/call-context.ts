/** One call on its way: what its handler is given, and what the road keeps of it. */
import { setMaxListeners } from 'node:events';
import { nanoid } from 'nanoid';
import type { Rounds } from './authorizer/rounds';
import type { Caller, RequestMeta } from './caller';
import type { Context, ElicitAnswer, ElicitQuestion, Transport } from './context';
import type { ServerCore } from './core';
import type { AuthInfo } from './protocol/auth-info';
import { ErrorCode, McpError } from './protocol/errors';
import type { Schema } from './protocol/schema';
import { loggingLevels } from './protocol/types';
import type {
  ClientCapabilities,
  CreateMessageRequestParams,
  CreateMessageResult,
  Era,
  Implementation,
  JsonRpcNotification,
  ListRootsResult,
  LoggingLevel,
  Meta,
  ProgressToken,
  RequestId,
} from './protocol/types';

/** Before Node warns of a leak: every open question of a call listens, and the handler may. */
const maxSignalListeners = 64;

/** One call. Made by the transport, handed down the whole road; ends with {@link CallContext.end}. */
export class CallContext implements Context {
  approval: Readonly<Record<string, unknown>> | undefined;
  /** Scopes a denial has asked for: `http/` makes it 403. */
  challenge: Challenge | undefined;
  /** What the call is about, for what is sealed into `requestState`. */
  target: CallTarget | undefined;
  /** The rounds of questions this call is in; made when something is asked, answered, or run once. */
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
  get request(): Context['request'] {
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

  get createElicitationId(): Context['createElicitationId'] {
    return () => this.caller.session?.createElicitationId() ?? nanoid();
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
