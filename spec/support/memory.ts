/** A client without HTTP: its messages go to `handleMessage`, what comes back is checked against its revision's schema. */
import type { Connection, McpServer } from 'express-mcp';
import type { Message } from './exchange';
import { expectValidMessage, latestLegacy, modernRevision } from './schema';
import type { Revision } from './schema';
import { initializeMessage, modernRequest } from './wire';

type Params = Record<string, unknown>;

export interface MemoryOptions {
  revision?: Revision;
  capabilities?: object;
  connection?: Connection;
  /** `false`: nobody listens to what the server sends on its own. */
  listening?: boolean;
}

export interface MemoryClient {
  readonly revision: Revision;
  readonly connection: Connection;
  /** Legacy: the answer to `initialize`. */
  readonly initializeResult: Params | undefined;
  /** Everything that came outside an answer, in order. */
  readonly heard: Message[];
  /** Send anything. */
  send(message: unknown): Promise<unknown>;
  request(method: string, params?: Params, options?: RequestOptions): Promise<Message>;
  callTool(name: string, args?: unknown, options?: RequestOptions): Promise<Message>;
  notify(method: string, params?: Params): Promise<unknown>;
  /** The next message, among those not taken yet, that satisfies `wanted`. */
  find(wanted: (message: Message) => boolean): Promise<Message>;
  /** Stop listening: the connection ends. */
  close(): void;
}

interface RequestOptions {
  id?: string | number;
  /** Laid over the request's `_meta`. */
  meta?: Params;
}

let lastId = 0;

/** Join `server` as a client of one revision; a legacy one has said `initialize` and `notifications/initialized`. */
export async function join(server: McpServer, options: MemoryOptions = {}): Promise<MemoryClient> {
  const { revision = latestLegacy, capabilities = {}, connection = {}, listening = true } = options;
  const heard: Message[] = [];
  let taken = 0;
  let wake = (): void => undefined;
  const hear = (message: unknown): void => {
    expectValidMessage(revision, message);
    heard.push(message as Message);
    wake();
  };
  const close = listening ? server.subscribe(hear, connection) : () => undefined;
  const isModern = revision === modernRevision;

  function messageOf(method: string, params: Params, { id = `m${++lastId}`, meta }: RequestOptions): Params {
    if (isModern) return modernRequest(method, params, { id, capabilities, meta }).body;
    return { jsonrpc: '2.0', id, method, params: meta === undefined ? params : { ...params, _meta: meta } };
  }
  async function request(method: string, params: Params = {}, rest: RequestOptions = {}): Promise<Message> {
    const response = await server.handleMessage(messageOf(method, params, rest), connection);
    if (response === undefined) throw new Error(`${method} was not answered`);
    expectValidMessage(revision, response, { request: method });
    return response as Message;
  }

  let initializeResult: Params | undefined;
  if (!isModern) {
    const response = await server.handleMessage(initializeMessage(revision, capabilities), connection);
    expectValidMessage(revision, response, { request: 'initialize' });
    initializeResult = (response as Message).result;
    await server.handleMessage({ jsonrpc: '2.0', method: 'notifications/initialized' }, connection);
  }
  return {
    revision,
    connection,
    initializeResult,
    heard,
    send: (message) => server.handleMessage(message, connection),
    request,
    callTool: (name, args, rest) => request('tools/call', { name, arguments: args }, rest),
    notify(method, params = {}) {
      const { id: _id, ...message } = messageOf(method, params, {});
      return server.handleMessage(message, connection);
    },
    async find(wanted) {
      for (;;) {
        while (taken === heard.length) await new Promise<void>((resolve) => (wake = resolve));
        const message = heard[taken++]!;
        if (wanted(message)) return message;
      }
    },
    close,
  };
}

/** The first text of a tool's result. */
export function textOfMessage({ result }: Message): string | undefined {
  const content = result?.content as { type: string; text?: string }[] | undefined;
  return content?.find(({ type }) => type === 'text')?.text;
}
