/** A raw client of both eras: what goes over the wire is what the spec says, what comes back is checked. */
import { connect } from 'node:net';
import { openStream, mergeHeaders, send } from './exchange';
import type { Exchange, Headers, Reply, Stream } from './exchange';
import { latestLegacy, modernRevision } from './schema';
import type { Revision } from './schema';

export { openStream, send } from './exchange';
export type { Headers, Message, Reply, SseEvent, Stream } from './exchange';

/** Where to send to: a fixture, or anything else with a URL. */
export interface Target {
  url: string;
}

type Params = Record<string, unknown>;

export interface RequestOptions {
  /** Any value, for the wrong ones too. Counted up when left out. */
  id?: unknown;
  headers?: Headers;
  /** `false`: the answer is not validated (broken ids only). */
  validate?: boolean;
}

/** POST one body. */
export function post(url: string, body: unknown, headers: Headers = {}, options: Exchange = {}): Promise<Reply> {
  return send(url, { ...options, method: 'POST', headers, body });
}

/** `initialize`, as a client of a legacy revision sends it. */
export function initializeMessage(protocolVersion: unknown = latestLegacy, capabilities: object = {}) {
  const clientInfo = { name: 'wire', version: '1.0.0' };
  return { jsonrpc: '2.0', id: 'init', method: 'initialize', params: { protocolVersion, capabilities, clientInfo } };
}

export interface LegacyOptions {
  revision?: Exclude<Revision, typeof modernRevision>;
  capabilities?: object;
  /** Sent with every request of the session, `Authorization` for example. */
  headers?: Headers;
  /** `false`: stop after `initialize`. */
  initialized?: boolean;
}

export interface LegacySession {
  revision: Revision;
  sessionId: string;
  headers: Headers;
  /** The answer to `initialize`. */
  initializeReply: Reply;
  /** POST any body within the session. */
  post(body: unknown, options?: Omit<RequestOptions, 'id'>): Promise<Reply>;
  request(method: string, params?: unknown, options?: RequestOptions): Promise<Reply>;
  /** The same, read as it comes. */
  stream(method: string, params?: unknown, options?: RequestOptions): Promise<Stream>;
  callTool(name: string, args?: unknown, options?: RequestOptions): Promise<Reply>;
  notify(method: string, params?: unknown, options?: { headers?: Headers }): Promise<Reply>;
  /** Open the standalone stream, or resume another with `Last-Event-ID`. */
  get(headers?: Headers): Promise<Stream>;
  delete(headers?: Headers): Promise<Reply>;
  /** The same session, spoken to at another address: one of several nodes. */
  at(target: Target): LegacySession;
}

let lastId = 0;

/** Open a session: `initialize`, then `notifications/initialized`. */
export async function legacySession(target: Target, options: LegacyOptions = {}): Promise<LegacySession> {
  const { revision = latestLegacy, capabilities, headers: extra = {}, initialized = true } = options;
  const { url } = target;
  const initializeReply = await post(url, initializeMessage(revision, capabilities), extra);
  const sessionId = initializeReply.headers['mcp-session-id'];
  if (initializeReply.status !== 200 || typeof sessionId !== 'string') {
    throw new Error(`initialize answered ${initializeReply.status}: ${initializeReply.text}`);
  }
  const headers = mergeHeaders({ 'Mcp-Session-Id': sessionId, 'MCP-Protocol-Version': revision }, extra);
  const message = (method: string, params: unknown, id: unknown) => ({ jsonrpc: '2.0', id, method, params });
  const speakTo = (url: string): LegacySession => ({
    revision,
    sessionId,
    headers,
    initializeReply,
    post: (body, { headers: over, validate } = {}) =>
      post(url, body, mergeHeaders(headers, over), { revision, validate }),
    request: (method, params, { id = ++lastId, ...rest } = {}) => speakTo(url).post(message(method, params, id), rest),
    stream: (method, params, { id = ++lastId, headers: over, validate } = {}) =>
      openStream(url, {
        method: 'POST',
        headers: mergeHeaders(headers, over),
        body: message(method, params, id),
        revision,
        validate,
      }),
    callTool: (name, args, rest) => speakTo(url).request('tools/call', { name, arguments: args }, rest),
    notify: (method, params, rest) => speakTo(url).post({ jsonrpc: '2.0', method, params }, rest),
    get: (over) => openStream(url, { headers: mergeHeaders(headers, over), revision }),
    delete: (over) => send(url, { method: 'DELETE', headers: mergeHeaders(headers, over), revision }),
    at: (target) => speakTo(target.url),
  });
  const session = speakTo(url);
  if (initialized) {
    const reply = await session.notify('notifications/initialized');
    if (reply.status !== 202) throw new Error(`notifications/initialized answered ${reply.status}: ${reply.text}`);
  }
  return session;
}

export interface ModernOptions extends RequestOptions {
  /** Laid over the usual `_meta`; `undefined` takes a key away, `null` the whole `_meta`. */
  meta?: Record<string, unknown> | null;
  capabilities?: unknown;
}

export interface ModernClient {
  request(method: string, params?: Params, options?: ModernOptions): Promise<Reply>;
  stream(method: string, params?: Params, options?: ModernOptions): Promise<Stream>;
  callTool(name: string, args?: unknown, options?: ModernOptions): Promise<Reply>;
  notify(method: string, params?: Params, options?: ModernOptions): Promise<Reply>;
}

/** Everything a modern request needs: its body, and the headers that mirror it. */
export function modernRequest(
  method: string,
  params: Params = {},
  options: ModernOptions & { notification?: true } = {},
) {
  const { id = ++lastId, headers, meta = {}, capabilities = {}, notification } = options;
  const prefix = 'io.modelcontextprotocol';
  const usual = {
    [`${prefix}/protocolVersion`]: modernRevision,
    [`${prefix}/clientInfo`]: { name: 'wire', version: '1.0.0' },
    [`${prefix}/clientCapabilities`]: capabilities,
  };
  const _meta = meta === null ? undefined : { ...usual, ...(params._meta as object | undefined), ...meta };
  const named = method === 'resources/read' ? params.uri : /^(tools\/call|prompts\/get)$/.test(method) && params.name;
  const mirrored: Headers = { 'MCP-Protocol-Version': modernRevision, 'Mcp-Method': headerValue(method) };
  if (typeof named === 'string') mirrored['Mcp-Name'] = headerValue(named);
  return {
    headers: mergeHeaders(mirrored, headers),
    body: { jsonrpc: '2.0', ...(notification ? {} : { id }), method, params: { ...params, _meta } },
  };
}

/** As the specification encodes a value that HTTP could change or that looks encoded already. */
function headerValue(value: string): string {
  const plain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !/^=\?base64\?.*\?=$/.test(value);
  return plain ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}

/** A stateless client; `common` headers go with every request. */
export function modern(target: Target, common: Headers = {}): ModernClient {
  const prepare = (method: string, params?: Params, options: ModernOptions & { notification?: true } = {}) => {
    const made = modernRequest(method, params, { ...options, headers: mergeHeaders(common, options.headers) });
    return { method: 'POST', ...made, revision: modernRevision, validate: options.validate } as const;
  };
  const client: ModernClient = {
    request: (method, params, options) => send(target.url, prepare(method, params, options)),
    stream: (method, params, options) => openStream(target.url, prepare(method, params, options)),
    callTool: (name, args, options) => client.request('tools/call', { name, arguments: args }, options),
    notify: (method, params, options) => send(target.url, prepare(method, params, { ...options, notification: true })),
  };
  return client;
}

/** The text of a tool's answer; throws when it is none. */
export function textOf({ response, text }: Reply): string {
  const content = response?.result?.content as { type: string; text?: string }[] | undefined;
  const block = content?.find(({ type }) => type === 'text');
  if (block?.text === undefined) throw new Error(`No text in ${text}`);
  return block.text;
}

/** Write bytes, read bytes until the server closes: send `Connection: close`. */
export function rawHttp(port: number, bytes: string | Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(bytes));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', (error) => (chunks.length > 0 ? resolve(Buffer.concat(chunks)) : reject(error)));
    socket.on('close', () => resolve(Buffer.concat(chunks)));
  });
}
