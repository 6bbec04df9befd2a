/**
 * The headers that a modern request carries, against its body.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#request-metadata
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { RequestMeta } from '../caller';
import { ErrorCode, McpError } from '../protocol/errors';
import { decodeHeaderValue } from '../protocol/header-value';
import { isObject } from '../protocol/json-rpc';
import { clientCapabilitiesKey, protocolVersionKey } from '../protocol/params';
import { findRevision } from '../protocol/revisions';
import type { JsonRpcNotification, JsonRpcRequest } from '../protocol/types';
import { modernMeta, namedRevision, notificationMeta, unsupportedVersion } from '../request-meta';

/**
 * Is this a modern message? Its `_meta` names a revision, or its header does, one that has no sessions; without a session,
 * what only modern requests carry is enough. `initialize` without the first never is.
 */
export function isModern(
  { method, params }: JsonRpcRequest | JsonRpcNotification,
  headers: IncomingHttpHeaders,
): boolean {
  const meta = params?._meta;
  if (namedRevision(meta) !== undefined) return true;
  if (method === 'initialize') return false;
  const { 'mcp-protocol-version': version, 'mcp-session-id': sessionId, 'mcp-method': named } = headers;
  if (sessionId !== undefined || version !== undefined)
    return isModernVersion(version) || (sessionId === undefined && isUnknown(version));
  return named !== undefined || (isObject(meta) && meta[clientCapabilitiesKey] !== undefined);
}

/** Perhaps of a revision to come: its client learns which can be had. */
function isUnknown(version: string | string[] | undefined): boolean {
  return typeof version === 'string' && findRevision(version) === undefined;
}

/** Does a header name a modern revision of ours? */
export function isModernVersion(version: string | string[] | undefined): boolean {
  return typeof version === 'string' && findRevision(version)?.era === 'modern';
}

/**
 * What a modern message says of itself, once its headers and its body agree.
 *
 * @throws {McpError} -32602 for incomplete `_meta`, -32020 for a header that is missing or differs, -32022 for a
 *   revision that is not ours. In this order: the body first, since without it there is nothing to compare.
 */
export function readModernMessage(
  message: JsonRpcRequest | JsonRpcNotification,
  headers: IncomingHttpHeaders,
): RequestMeta {
  return 'id' in message ? readRequest(message, headers) : readNotification(message, headers);
}

function readRequest(message: JsonRpcRequest, headers: IncomingHttpHeaders): RequestMeta {
  const meta = message.params?._meta;
  const version = namedRevision(meta);
  const header = headers['mcp-protocol-version'];
  if (typeof version !== 'string' || !isObject(meta)) {
    if (version === undefined && isUnknown(header)) throw unsupportedVersion(header as string);
    throw new McpError(
      ErrorCode.InvalidParams,
      `Invalid params: _meta["${protocolVersionKey}"] must be the protocol revision of the request`,
    );
  }
  compare('MCP-Protocol-Version', header, version);
  const revision = findRevision(version);
  if (revision?.era !== 'modern') throw unsupportedVersion(version);
  const read = modernMeta(revision, meta);
  compare('Mcp-Method', headers['mcp-method'], message.method);
  compareName(headers['mcp-name'], message);
  return read;
}

/** basic, "_meta": what is required is required of requests. A notification may name its revision in either place. */
function readNotification({ params }: JsonRpcNotification, headers: IncomingHttpHeaders): RequestMeta {
  const header = headers['mcp-protocol-version'];
  const version = namedRevision(params?._meta) ?? header;
  if (header !== undefined) compare('MCP-Protocol-Version', header, version);
  const revision = typeof version === 'string' ? findRevision(version) : undefined;
  if (revision?.era !== 'modern') throw unsupportedVersion(String(version));
  return notificationMeta(revision, params?._meta);
}

/** The field that `Mcp-Name` repeats. */
const namedBy: Readonly<Record<string, string>> = {
  'resources/read': 'uri',
  'tools/call': 'name',
  'prompts/get': 'name',
};

function compareName(header: string | string[] | undefined, { method, params }: JsonRpcRequest): void {
  if (!Object.hasOwn(namedBy, method)) return;
  const name = params?.[namedBy[method]!];
  // Without either, the params are wrong anyhow.
  if (header === undefined && typeof name !== 'string') return;
  if (typeof header !== 'string') throw mismatch('Mcp-Name is missing');
  const decoded = decodeHeaderValue(header);
  if (decoded === undefined) throw mismatch('Mcp-Name is not a valid header value');
  if (decoded !== name) throw mismatch('Mcp-Name differs from the body');
}

function compare(name: string, header: string | string[] | undefined, body: unknown): void {
  if (header === undefined) throw mismatch(`${name} is missing`);
  if (header !== body) throw mismatch(`${name} differs from the body`);
}

function mismatch(what: string): McpError {
  return new McpError(ErrorCode.HeaderMismatch, `Header mismatch: ${what}`);
}
