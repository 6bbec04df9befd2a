/** The way to a server in the same process: no port, and still only what JSON can carry. */
import type { Connection } from '../connections';
import { encodeResponse } from '../protocol/json-rpc';
import type { JsonRpcResponse } from '../protocol/types';
import type { McpServer } from '../server';
import type { Channel, Receive } from './channel';

/** What a wire would make of it. */
function overTheWire<T>(message: T): T {
  return JSON.parse(JSON.stringify(message)) as T;
}

/** Be a client of `server`. */
export function openMemoryChannel(server: McpServer, connection: Connection, receive: Receive): Channel {
  const stop = server.subscribe((message) => receive(overTheWire(message)), connection);
  return {
    mirrorsParams: false,
    cancelsByMessage: true,
    async request(message, _headers, signal) {
      const response = server.handleMessage(overTheWire(message), connection);
      const aborted = new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      });
      const answer = await Promise.race([response, aborted]);
      // None for a call that was cancelled: the signal says why.
      return answer === undefined
        ? aborted
        : (JSON.parse(encodeResponse(answer as JsonRpcResponse)) as JsonRpcResponse);
    },
    async send(message) {
      await server.handleMessage(overTheWire(message), connection);
    },
    async listen() {},
    async close() {
      stop();
    },
  };
}
