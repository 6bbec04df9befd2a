/** A client of `serveStdio` at the other end of two streams: lines in, lines out, checked against the schemas. */
import { PassThrough } from 'node:stream';
import type { Readable, Writable } from 'node:stream';
import type { McpServer } from 'express-mcp';
import { serveStdio } from 'express-mcp/stdio';
import type { StdioOptions, StdioServer } from 'express-mcp/stdio';
import type { Message } from './exchange';
import { expectValidMessage, latestLegacy, modernRevision } from './schema';
import type { Revision } from './schema';
import { initializeMessage, modernRequest } from './wire';

export interface LineClient {
  /** Everything that has come, in order. */
  readonly received: Message[];
  /** Write bytes as they are. */
  write(bytes: string | Uint8Array): void;
  /** Write one message as a line. */
  send(message: unknown): void;
  /** The next message, among those not taken yet, that satisfies `wanted`. */
  next(wanted?: (message: Message) => boolean): Promise<Message>;
  /** A request of the client's era, and its answer. */
  request(method: string, params?: Record<string, unknown>, options?: { id?: string | number }): Promise<Message>;
  notify(method: string, params?: Record<string, unknown>): void;
}

let lastId = 0;

/** Speak over `stdin` (written to) and `stdout` (read from) as a client of one revision. */
export function lineClient(
  { stdin, stdout }: { stdin: Writable; stdout: Readable },
  { revision = modernRevision, capabilities = {} }: { revision?: Revision; capabilities?: object } = {},
): LineClient {
  const received: Message[] = [];
  const methods = new Map<unknown, string>();
  const waiting = new Set<() => void>();
  let taken: Message[] = [];
  let rest = '';
  stdout.setEncoding('utf8');
  stdout.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    for (const line of lines) {
      const message = JSON.parse(line) as Message;
      // Nothing but messages, each as its revision has it.
      expectValidMessage(revision, message, { request: (id) => methods.get(id) });
      received.push(message);
      taken.push(message);
    }
    waiting.forEach((look) => look());
  });

  const client: LineClient = {
    received,
    write: (bytes) => void stdin.write(bytes),
    send: (message) => client.write(`${JSON.stringify(message)}\n`),
    next: (wanted = () => true) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = taken.find(wanted);
          if (found === undefined) return void waiting.add(look);
          taken = taken.filter((message) => message !== found);
          waiting.delete(look);
          resolve(found);
        };
        look();
      }),
    request(method, params = {}, { id = `l${++lastId}` } = {}) {
      methods.set(id, method);
      client.send(
        revision === modernRevision
          ? modernRequest(method, params, { id, capabilities }).body
          : { jsonrpc: '2.0', id, method, params },
      );
      return client.next((message) => message.id === id && message.method === undefined);
    },
    notify(method, params) {
      client.send({ jsonrpc: '2.0', method, params });
    },
  };
  return client;
}

export interface Served extends LineClient {
  serving: StdioServer;
  stdin: PassThrough;
  stdout: PassThrough;
  /** What `onError` heard. */
  errors: unknown[];
}

/** Serve `server` over two pipes, and speak to it. */
export function serveLines(
  server: McpServer,
  { revision, capabilities, ...options }: StdioOptions & { revision?: Revision; capabilities?: object } = {},
): Served {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const errors: unknown[] = [];
  const serving = serveStdio(server, { stdin, stdout, onError: (error) => void errors.push(error), ...options });
  return { ...lineClient({ stdin, stdout }, { revision, capabilities }), serving, stdin, stdout, errors };
}

/** `initialize` and `notifications/initialized`. */
export async function initialize(
  client: LineClient,
  revision: Revision = latestLegacy,
  capabilities: object = {},
): Promise<Message> {
  client.send({ ...initializeMessage(revision, capabilities), id: 'init' });
  const response = await client.next(({ id }) => id === 'init');
  client.notify('notifications/initialized');
  return response;
}
