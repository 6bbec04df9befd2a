/** Who sent a message, what it says of its client, and how to reach them: what a transport gives to `dispatch`. */
import type { Context, Transport } from './context';
import type { Notice, ServerCore } from './core';
import type { AuthInfo } from './protocol/auth-info';
import type { Revision } from './protocol/revisions';
import type {
  ClientCapabilities,
  Implementation,
  JsonRpcNotification,
  JsonRpcRequest,
  LoggingLevel,
  Meta,
  ProgressToken,
  RequestId,
} from './protocol/types';
import type { Session } from './sessions/session';
import type { SessionRecord } from './sessions/session-store';

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
  readonly request: Context['request'];
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
