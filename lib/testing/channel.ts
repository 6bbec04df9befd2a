/** What a way to a server can do; one for each transport. */
import type { JsonRpcMessage, JsonRpcNotification, JsonRpcRequest, JsonRpcResponse } from '../protocol/types';

/** A way to one server, for one client. Ends with {@link Channel.close}. */
export interface Channel {
  /** HTTP: names and parameters travel in headers as well. */
  readonly mirrorsParams: boolean;
  /** The client stops a request by a message (`notifications/cancelled`), not by hanging up. */
  readonly cancelsByMessage: boolean;
  /**
   * Send a request and wait for its response. What comes before it goes to the listener.
   *
   * @param headers HTTP only.
   * @param signal Rejects with its reason once it aborts.
   */
  request(message: JsonRpcRequest, headers: Record<string, string>, signal: AbortSignal): Promise<JsonRpcResponse>;
  /** Send a notification, or the answer to a question. */
  send(message: JsonRpcNotification | JsonRpcResponse): Promise<void>;
  /** Legacy, once initialized: hear what the server says on its own. */
  listen(): Promise<void>;
  close(): Promise<void>;
}

/** Hears every message that is no response to a request of this client. Never throws. */
export type Receive = (message: JsonRpcMessage) => void;
