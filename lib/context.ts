/** All a handler may know or do during one call. */
import type { IncomingMessage } from 'node:http';
import type { AuthInfo } from './protocol/auth-info';
import type { Schema } from './protocol/schema';
import type { InferOutput } from './protocol/standard-schema';
import type {
  ClientCapabilities,
  CreateMessageRequestParams,
  CreateMessageResult,
  Era,
  Implementation,
  ListRootsResult,
  LoggingLevel,
  Meta,
  ProgressToken,
  RequestId,
} from './protocol/types';

/** How messages travel, as the server knows it. */
export type Transport = 'http' | 'stdio' | 'memory';

/** A form to fill in, or a page to open. */
export type ElicitQuestion<S extends Schema> = { message: string; schema: S } | ElicitPage;

/** A page for the user to open. */
export interface ElicitPage {
  message: string;
  url: string;
  /** From {@link Context.createElicitationId}, where the url holds it. @default one that nothing else knows */
  elicitationId?: string;
}

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
   * @returns False if nothing was closed: this client could not come back, and waits on the connection. With shared
   *   sessions it is closed once the store knows of the stream; it stays open if that cannot be.
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
  elicit(key: string, question: ElicitPage): Promise<ElicitAnswer<undefined>>;
  /**
   * Make an id for a page that the user is sent to: put it in the url, and tell this client alone when the user is done,
   * with `server.notify('notifications/elicitation/complete', { elicitationId })`, from whatever process. Only clients of
   * 2025-11-25 have such ids and hear of it. In `once` it stays the same, however often the handler runs.
   *
   * @see https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#completion-notifications-for-url-mode-elicitation
   */
  createElicitationId(): string;
  /** Ask the client's model, as {@link Context.elicit} asks the user. */
  sample(key: string, params: CreateMessageRequestParams): Promise<CreateMessageResult>;
  /** Ask for the client's roots, as {@link Context.elicit} asks the user. @default key 'roots' */
  listRoots(key?: string): Promise<ListRootsResult>;
  /** Run `fn` once, however often the handler runs again; its JSON result travels along, sealed. */
  once<T>(key: string, fn: () => T | Promise<T>): Promise<T>;
}
