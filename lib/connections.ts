/** Clients over transports that are not HTTP: stdio, memory, an author's own. One connection object is one client. */
import { nanoid } from 'nanoid';
import { CallContext } from './call-context';
import type { Caller, ParkedCalls, RequestMeta, Subscription } from './caller';
import type { Transport } from './context';
import type { Notice, ServerCore } from './core';
import { dispatch } from './dispatcher';
import type { AuthInfo } from './protocol/auth-info';
import { isTooDeep, maxDepth } from './protocol/depth';
import { tagged } from './methods/subscriptions';
import { ErrorCode, errorResponse, McpError } from './protocol/errors';
import { parseMessage, plainResponse, readableIdOf } from './protocol/json-rpc';
import type { ParsedMessage } from './protocol/json-rpc';
import { protocolVersionKey } from './protocol/params';
import type { JsonRpcMessage, JsonRpcResponse, RequestId } from './protocol/types';
import { legacyMeta, readModernMeta } from './request-meta';
import { Session } from './sessions/session';

/** One client of a transport that is not HTTP. The same object for all its messages; what is kept for it goes when it goes. */
export interface Connection {
  /** What the authorizer is told. @default 'memory' */
  readonly transport?: 'stdio' | 'memory';
  /** Who the client is, as the transport knows it. */
  readonly principal?: string;
  readonly auth?: AuthInfo;
}

const howToBegin = `Send initialize first, or name the revision in _meta["${protocolVersionKey}"]`;

/** A batch may have this many messages. */
const maxBatch = 100;
/** Questions that one connection may have open. */
const maxParked = 16;

/** Nothing is kept of a session's messages here: the listener has them at once. */
const noLimits = { waitingLimit: 0, waitingBytes: 0, historyLimit: 0, historyBytes: 0 };

/** All connections of one server. They are held weakly: an abandoned one is collected. */
export class Connections {
  readonly #core: ServerCore;
  readonly #states = new WeakMap<Connection, ConnectionState>();

  constructor(core: ServerCore) {
    this.#core = core;
  }

  handle(message: unknown, connection?: Connection): Promise<JsonRpcResponse | JsonRpcResponse[] | undefined> {
    return (connection === undefined ? new ConnectionState(this.#core, {}) : this.#stateOf(connection)).handle(message);
  }

  subscribe(listener: (message: JsonRpcMessage) => void, connection: Connection): () => void {
    return this.#stateOf(connection).subscribe(listener);
  }

  send(connection: Connection, message: JsonRpcMessage): void {
    this.#stateOf(connection).send(message);
  }

  #stateOf(connection: Connection): ConnectionState {
    let state = this.#states.get(connection);
    if (state === undefined) this.#states.set(connection, (state = new ConnectionState(this.#core, connection)));
    return state;
  }
}

/** What is known of one connection. */
class ConnectionState implements ParkedCalls {
  readonly #core: ServerCore;
  readonly #transport: Transport;
  readonly #principal: string | undefined;
  readonly #auth: AuthInfo | undefined;
  readonly #listeners = new Set<(message: JsonRpcMessage) => void>();
  readonly #calls = new Set<CallContext>();
  /** The calls that listen, each with what ends it. */
  readonly #subscriptions = new Map<CallContext, { readonly subscription: Subscription; readonly end: () => void }>();
  #session: Session | undefined;
  #parked = 0;

  constructor(core: ServerCore, { transport = 'memory', principal, auth }: Connection) {
    this.#core = core;
    this.#transport = transport;
    this.#principal = principal ?? auth?.principal;
    this.#auth = auth;
  }

  subscribe(listener: (message: JsonRpcMessage) => void): () => void {
    if (this.#listeners.size === 0) this.#core.listeners.add(this.#hear);
    this.#listeners.add(listener);
    return () => {
      if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#close();
    };
  }

  #close(): void {
    this.#core.listeners.delete(this.#hear);
    // basic/patterns/subscriptions, "Graceful Closure": what the server ends has a result; the rest is cancelled.
    for (const call of this.#calls) if (!this.#subscriptions.has(call)) call.cancel('The connection closed');
    for (const { end } of this.#subscriptions.values()) end();
    // Whoever listens here next begins anew.
    this.#subscriptions.clear();
    this.#session?.end('client');
    this.#session = undefined;
  }

  /** @returns False if nobody listens. */
  send(message: JsonRpcMessage): boolean {
    for (const listener of this.#listeners) {
      try {
        listener(message);
      } catch (error) {
        this.#core.onError(error);
      }
    }
    return this.#listeners.size > 0;
  }

  readonly #hear = (notice: Notice): void => {
    const { message } = notice;
    for (const { subscription } of this.#subscriptions.values())
      if (subscription.wants(notice)) this.send(tagged(message, subscription.id));
    if (this.#session?.wants(notice)) this.send(message);
  };

  async handle(message: unknown): Promise<JsonRpcResponse | JsonRpcResponse[] | undefined> {
    if (!Array.isArray(message)) return this.#handleOne(message);
    if (!this.#session?.revision.batches || message.length === 0 || message.length > maxBatch) {
      return errorResponse(
        undefined,
        ErrorCode.InvalidRequest,
        'Batches of 1 to 100 messages are part of 2025-03-26 only',
      );
    }
    const responses = await Promise.all(message.map((element) => this.#handleOne(element, true)));
    const answered = responses.filter((response) => response !== undefined);
    return answered.length > 0 ? answered : undefined;
  }

  async #handleOne(value: unknown, inBatch = false): Promise<JsonRpcResponse | undefined> {
    let parsed: ParsedMessage;
    let meta: RequestMeta;
    try {
      if (isTooDeep(value))
        throw new McpError(ErrorCode.InvalidRequest, `The message is nested deeper than ${maxDepth} levels`);
      parsed = parseMessage(value);
      // A batch is of its session's revision, whatever its messages say.
      meta = inBatch ? legacyMeta(this.#session, parsed) : this.#metaOf(parsed);
    } catch (error) {
      if (!(error instanceof McpError)) throw error;
      return errorResponse(readableIdOf(value), error.code, error.message, error.data);
    }
    const context: CallContext = new CallContext(
      this.#core,
      this.#caller(meta, (subscription) => this.#listen(subscription, context)),
      meta,
      'method' in parsed.message ? parsed.message.method : '',
      'id' in parsed.message ? parsed.message.id : undefined,
    );
    if (parsed.kind === 'request') this.#calls.add(context);
    try {
      const { response } = await dispatch(this.#core, parsed, context);
      // Cancellation: no response for a cancelled request.
      return context.cancelled || response === undefined ? undefined : plainResponse(response);
    } finally {
      this.#calls.delete(context);
    }
  }

  #metaOf(parsed: ParsedMessage): RequestMeta {
    const modern = parsed.kind === 'response' ? undefined : readModernMeta(parsed.message.params?._meta);
    if (modern !== undefined) return modern;
    // basic, "_meta": a request without the required fields is malformed; legacy clients begin with initialize.
    if (this.#transport === 'stdio' && this.#session === undefined && parsed.kind === 'request') {
      const { method } = parsed.message;
      if (method !== 'initialize' && method !== 'ping') throw new McpError(ErrorCode.InvalidParams, howToBegin);
    }
    return legacyMeta(this.#session, parsed);
  }

  #caller({ revision }: RequestMeta, listen: NonNullable<Caller['listen']>): Caller {
    return {
      transport: this.#transport,
      principal: this.#principal,
      auth: this.#auth,
      request: undefined,
      session: revision.era === 'legacy' ? this.#session : undefined,
      hearsServer: this.#listeners.size > 0,
      parked: this,
      toolTimeoutMs: this.#core.toolTimeoutMs,
      openSession: (record) => {
        this.#session = new Session(
          { ...record, id: `${this.#transport}-${nanoid()}`, principal: this.#principal },
          noLimits,
          Date.now(),
        );
      },
      saveSession() {},
      cancelCall: (id, reason) => this.#cancelCalls(id, reason),
      send: (message) => this.send(message),
      startStream() {},
      watchDisconnect() {},
      ...(this.#listeners.size > 0 ? { listen } : undefined),
    };
  }

  /** A client that reuses an id in flight cancels all calls of that id. */
  #cancelCalls(id: RequestId, reason: unknown): void {
    for (const call of this.#calls) if (call.requestId === id) call.cancel(reason);
  }

  /** Until the connection closes or the client cancels, which either may have done already. */
  async #listen(subscription: Subscription, call: CallContext): Promise<void> {
    if (!call.cancelled) this.send(subscription.acknowledgement);
    if (call.cancelled) return;
    await new Promise<void>((resolve) => {
      this.#subscriptions.set(call, { subscription, end: resolve });
      call.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    this.#subscriptions.delete(call);
  }

  enter(): boolean {
    if (this.#parked >= maxParked) return false;
    this.#parked += 1;
    return true;
  }

  leave(): void {
    this.#parked -= 1;
  }
}
