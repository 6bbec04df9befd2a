/** One HTTP exchange with an endpoint, read to its end or as a stream, its messages checked against the schema. */
import { request as httpRequest } from 'node:http';
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { createParser } from 'eventsource-parser';
import { expectValidMessage, latestLegacy, modernRevision, revisions } from './schema';
import type { Revision } from './schema';

/** Header lines to send; an array sends the line twice, `undefined` takes a default away. */
export type Headers = Record<string, string | string[] | undefined>;

/** A JSON-RPC message as it came; a response when it has `result` or `error`. */
export interface Message {
  jsonrpc: '2.0';
  id?: unknown;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: unknown };
}

export interface SseEvent {
  id?: string;
  event?: string;
  /** The `retry:` field sent with it, in milliseconds. */
  retry?: number;
  data: string;
  /** `data` parsed; absent on a priming event, whose data is empty. */
  message?: Message;
}

export interface Exchange {
  method?: 'POST' | 'GET' | 'DELETE' | 'OPTIONS' | 'PUT' | 'PATCH' | 'HEAD';
  headers?: Headers;
  /** Text and bytes are sent as they are, everything else as JSON. */
  body?: unknown;
  /** Whose schema the answer has to follow; taken from the request when left out. */
  revision?: Revision;
  /** `false`: do not validate the answer (only where the request is broken on purpose in its id). */
  validate?: boolean;
}

/** The whole answer. */
export interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The body's bytes as they came, compressed or not. */
  bytes: Buffer;
  /** The body, when it is JSON. */
  json?: Message;
  /** The events, when it is an event stream. */
  events?: SseEvent[];
  /** Comment lines of the event stream (keep-alives). */
  comments: string[];
  /** Every message in it, in order; of a batch, each. */
  messages: Message[];
  /** The last response in it, however it came. */
  response?: Message;
}

/** An answer read as it comes. */
export interface Stream {
  status: number;
  headers: IncomingHttpHeaders;
  comments: string[];
  /** Every event so far. */
  events: SseEvent[];
  /** The next event that has not been taken; undefined once the stream has ended. */
  next(): Promise<SseEvent | undefined>;
  /** The next event whose message satisfies `wanted`; throws when the stream ends before. */
  find(wanted: (message: Message) => boolean): Promise<Message>;
  [Symbol.asyncIterator](): AsyncIterator<SseEvent>;
  /** Settles when the answer is over, whoever ended it. */
  ended: Promise<void>;
  /** Cut the connection. */
  close(): void;
}

const defaults: Headers = { Accept: 'application/json, text/event-stream', 'Content-Type': 'application/json' };

/** Lay `over` on `base`; names match in any case. */
export function mergeHeaders(base: Headers, over: Headers = {}): Headers {
  const replaced = new Set(Object.keys(over).map((name) => name.toLowerCase()));
  const kept = Object.entries(base).filter(([name]) => !replaced.has(name.toLowerCase()));
  return { ...Object.fromEntries(kept), ...over };
}

/** Begin a request without an end, for bodies sent piece by piece. */
export function beginRequest(url: string, { method = 'POST', headers }: Exchange = {}): ClientRequest {
  const base = method === 'POST' ? defaults : method === 'GET' ? { Accept: 'text/event-stream' } : {};
  const sent: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(mergeHeaders(base, headers))) if (value !== undefined) sent[name] = value;
  return httpRequest(url, { method, headers: sent, agent: false });
}

/** The answer's head; rejects when there is none. A server may answer and stop reading before the body is sent. */
export function responseTo(req: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    req.on('response', (res) => {
      req.on('error', () => undefined);
      resolve(res);
    });
    req.on('error', reject);
  });
}

function toBytes(body: unknown): string | Buffer | undefined {
  if (body === undefined || typeof body === 'string' || Buffer.isBuffer(body)) return body;
  return JSON.stringify(body);
}

async function start(url: string, exchange: Exchange): Promise<IncomingMessage> {
  const req = beginRequest(url, exchange);
  const answered = responseTo(req);
  const body = toBytes(exchange.body);
  // A DELETE's or GET's body has no length unless it is told.
  if (body !== undefined) req.setHeader('Content-Length', Buffer.byteLength(body));
  req.end(body);
  return answered;
}

/** Send, read the answer to its end and check it. */
export async function send(url: string, exchange: Exchange = {}): Promise<Reply> {
  return readReply(await start(url, exchange), exchange);
}

/** Read an answer to its end and check it. */
export async function readReply(res: IncomingMessage, exchange: Exchange = {}): Promise<Reply> {
  const chunks: Buffer[] = [];
  for await (const chunk of res) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  const text = bytes.toString('utf8');
  const reply: Reply = { status: res.statusCode ?? 0, headers: res.headers, text, bytes, comments: [], messages: [] };
  const type = res.headers['content-type'] ?? '';
  const encoded = res.headers['content-encoding'] !== undefined;
  if (type.startsWith('application/json') && text !== '' && !encoded) {
    reply.json = JSON.parse(text) as Message;
    reply.messages = [reply.json].flat();
  } else if (type.startsWith('text/event-stream') && !encoded) {
    const events: SseEvent[] = [];
    const parser = parseEvents(events, reply.comments);
    parser.feed(text);
    parser.reset({ consume: true });
    reply.events = events;
    reply.messages = events.flatMap(({ message }) => message ?? []);
  }
  reply.response = reply.messages.findLast((message) => 'result' in message || 'error' in message);
  if (exchange.validate !== false) checkReply(reply, exchange);
  return reply;
}

function parseEvents(events: SseEvent[], comments: string[], onEvent?: () => void) {
  let retry: number | undefined;
  return createParser({
    onEvent({ id, event, data }) {
      const message = data === '' ? undefined : (JSON.parse(data) as Message);
      events.push({ id, event, data, ...(retry === undefined ? {} : { retry }), ...(message && { message }) });
      retry = undefined;
      onEvent?.();
    },
    onRetry: (ms) => (retry = ms),
    onComment: (comment) => comments.push(comment),
    onError(error) {
      throw error;
    },
  });
}

/** Open a stream; the answer's messages are checked as they come. */
export async function openStream(url: string, exchange: Exchange = {}): Promise<Stream> {
  const res = await start(url, { method: 'GET', ...exchange });
  const events: SseEvent[] = [];
  const comments: string[] = [];
  let taken = 0;
  let over = false;
  let fault: unknown;
  let wake = (): void => undefined;
  const expected = expectation(exchange);
  const parser = parseEvents(events, comments, () => {
    const { message } = events[events.length - 1] as SseEvent;
    if (message !== undefined && exchange.validate !== false) expectValidMessage(expected.revision, message, expected);
  });
  res.setEncoding('utf8').on('data', (chunk: string) => {
    try {
      parser.feed(chunk);
    } catch (error) {
      fault ??= error;
    }
    wake();
  });
  const ended = new Promise<void>((resolve) => {
    // An aborted answer is an error of the response; for a stream it is one of its ends.
    res.on('error', () => undefined);
    res.on('close', () => {
      over = true;
      wake();
      resolve();
    });
  });
  const stream: Stream = {
    status: res.statusCode ?? 0,
    headers: res.headers,
    comments,
    events,
    ended,
    close: () => void res.destroy(),
    async next() {
      while (taken === events.length && !over && fault === undefined) {
        await new Promise<void>((resolve) => (wake = resolve));
      }
      if (fault !== undefined) throw fault;
      return events[taken++];
    },
    async find(wanted) {
      for await (const { message } of stream) if (message !== undefined && wanted(message)) return message;
      throw new Error(`The stream ended without it: ${JSON.stringify(events)}`);
    },
    async *[Symbol.asyncIterator]() {
      for (let event = await stream.next(); event !== undefined; event = await stream.next()) yield event;
    },
  };
  return stream;
}

/** Which schema the answer has to follow: the request's own words decide, unless the caller says. */
function expectation({ revision, headers, body }: Exchange) {
  const sent = parsed(body);
  const asked = [sent].flat() as {
    id?: unknown;
    method?: string;
    params?: { _meta?: unknown; protocolVersion?: string };
  }[];
  const named = Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() === 'mcp-protocol-version')?.[1];
  const first = asked[0];
  const meta = first?.params?._meta;
  const isModern = typeof meta === 'object' && meta !== null && 'io.modelcontextprotocol/protocolVersion' in meta;
  const spoken = isModern
    ? modernRevision
    : first?.method === 'initialize' && !Array.isArray(sent)
      ? first.params?.protocolVersion
      : named;
  return {
    revision: revision ?? revisions.find((known) => known === spoken) ?? latestLegacy,
    // An id that a batch uses twice says nothing.
    request: (id: unknown) => {
      const [one, another] = asked.filter((message) => message?.id === id);
      return another === undefined ? one?.method : undefined;
    },
  } as { revision: Revision; request: (id: unknown) => string | undefined };
}

function parsed(body: unknown): unknown {
  if (typeof body !== 'string' && !Buffer.isBuffer(body)) return body;
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined; // not JSON on purpose: its answer is an error, which needs no method
  }
}

/** What holds for every answer of an endpoint, whatever was asked. */
function checkReply(reply: Reply, exchange: Exchange): void {
  const { status, text, messages, json } = reply;
  const { revision, request } = expectation(exchange);
  // The version offered in answer to `initialize` need not be the one asked for.
  const offered = revisions.find((known) => known === reply.response?.result?.protocolVersion);
  for (const message of messages) expectValidMessage(offered ?? revision, message, { request });
  const seen = JSON.stringify({ status, text: text.slice(0, 2_000) });
  if (/\n\s+at |node_modules|\.[jt]s:\d+/.test(text)) throw new Error(`A stack or a path in the answer: ${seen}`);
  if (status === 202 && text !== '') throw new Error(`202 with a body: ${seen}`);
  if (status >= 500 && status !== 503) throw new Error(`The server failed: ${seen}`);
  const isHead = exchange.method === 'HEAD';
  if (status >= 400 && !isHead && json?.error === undefined) throw new Error(`Not a JSON-RPC error: ${seen}`);
}
