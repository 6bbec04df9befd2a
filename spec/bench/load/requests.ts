/** Requests as bytes, made once. Only the id in them changes, always nine digits long, so that no length does. */

/** A request ready to be written. */
export interface WireRequest {
  readonly bytes: Buffer;
  /** Where the digits of the id begin; -1 in a notification. */
  readonly idAt: number;
}

export const idDigits = 9;
const placeholder = '1'.repeat(idDigits);

export const legacyRevision = '2025-11-25';
const modernRevision = '2026-07-28';
const client = { name: 'bench', version: '1.0.0' };
const capabilities = { roots: { listChanged: true }, sampling: {}, elicitation: {} };

type Headers = Record<string, string>;

function post(message: object, headers: Headers): WireRequest {
  const body = JSON.stringify({ jsonrpc: '2.0', ...message });
  const head = Object.entries({
    Host: '127.0.0.1',
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    ...headers,
    'Content-Length': String(Buffer.byteLength(body)),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  const bytes = Buffer.from(`POST /mcp HTTP/1.1\r\n${head.join('')}\r\n${body}`);
  return { bytes, idAt: 'id' in message ? bytes.lastIndexOf(placeholder) : -1 };
}

/** A request of a 2026-07-28 client. */
export function modernRequest(method: string, params: Record<string, unknown> = {}): WireRequest {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': modernRevision,
    'io.modelcontextprotocol/clientInfo': client,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  const message = { method, params: { _meta, ...params }, id: Number(placeholder) };
  const headers: Headers = { 'MCP-Protocol-Version': modernRevision, 'Mcp-Method': method };
  if (typeof params.name === 'string') headers['Mcp-Name'] = params.name;
  return post(message, headers);
}

/** A request within a session. */
export function legacyRequest(
  sessionId: string,
  method: string,
  params: Record<string, unknown> = {},
  headers: Headers = {},
): WireRequest {
  const message = { method, params, id: Number(placeholder) };
  return post(message, { 'MCP-Protocol-Version': legacyRevision, 'Mcp-Session-Id': sessionId, ...headers });
}

/** The request that begins a session, in the revision that the headers name. */
export function initialize(headers: Headers = {}): WireRequest {
  const protocolVersion = headers['MCP-Protocol-Version'] ?? legacyRevision;
  const params = { protocolVersion, capabilities, clientInfo: client };
  return post({ method: 'initialize', params, id: Number(placeholder) }, headers);
}

/** The notification that ends the handshake. */
export function initialized(sessionId: string, headers: Headers = {}): WireRequest {
  const message = { method: 'notifications/initialized' };
  return post(message, { 'MCP-Protocol-Version': legacyRevision, 'Mcp-Session-Id': sessionId, ...headers });
}

/** The end of a session. */
export function endSession(sessionId: string, headers: Headers = {}): WireRequest {
  return bodiless('DELETE', { 'MCP-Protocol-Version': legacyRevision, 'Mcp-Session-Id': sessionId, ...headers });
}

/** The request that opens a session's stream. */
export function openStream(sessionId: string): WireRequest {
  return bodiless('GET', {
    Accept: 'text/event-stream',
    'MCP-Protocol-Version': legacyRevision,
    'Mcp-Session-Id': sessionId,
  });
}

function bodiless(method: string, headers: Headers): WireRequest {
  const head = Object.entries({ Host: '127.0.0.1', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return { bytes: Buffer.from(`${method} /mcp HTTP/1.1\r\n${head.join('')}\r\n`), idAt: -1 };
}

/** The call that most rows measure. */
export const echoCall = { name: 'echo', arguments: { text: 'The quick brown fox jumps over the lazy dog' } };
