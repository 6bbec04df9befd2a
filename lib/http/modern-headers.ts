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
import { protocolVersionKey } from '../protocol/params';
import { findRevision } from '../protocol/revisions';
import type { JsonRpcNotification, JsonRpcRequest } from '../protocol/types';
import { modernMeta, namedRevision, unsupportedVersion } from '../request-meta';

/** Is this a modern message? Its `_meta` names a revision, or its header a modern one; `initialize` without the first never is. */
export function isModern(
  { method, params }: JsonRpcRequest | JsonRpcNotification,
  headers: IncomingHttpHeaders,
): boolean {
  if (namedRevision(params?._meta) !== undefined) return true;
  return method !== 'initialize' && isModernVersion(headers['mcp-protocol-version']);
}

/** Does a header name a modern revision of ours? */
export function isModernVersion(version: string | string[] | undefined): boolean {
  return typeof version === 'string' && findRevision(version)?.era === 'modern';
}

/**
 * What a modern request says of itself, once its headers and its body agree.
 *
 * @throws {McpError} -32602 for incomplete `_meta`, -32020 for a header that is missing or differs, -32022 for a
 *   revision that is not ours. In this order: the body first, since without it there is nothing to compare.
 */
export function readModernRequest(
  message: JsonRpcRequest | JsonRpcNotification,
  headers: IncomingHttpHeaders,
): RequestMeta {
  const meta = message.params?._meta;
  const version = namedRevision(meta);
  if (typeof version !== 'string' || !isObject(meta)) {
    throw new McpError(
      ErrorCode.InvalidParams,
      `Invalid params: _meta["${protocolVersionKey}"] must be the protocol revision of the request`,
    );
  }
  compare('MCP-Protocol-Version', headers['mcp-protocol-version'], version);
  const revision = findRevision(version);
  if (revision?.era !== 'modern') throw unsupportedVersion(version);
  const read = modernMeta(revision, meta);
  if ('id' in message) {
    compare('Mcp-Method', headers['mcp-method'], message.method);
    const name = nameOf(message);
    if (name !== undefined) compareName(headers['mcp-name'], name);
  }
  return read;
}

/** What `Mcp-Name` repeats; undefined where the method has none, or its params are wrong anyhow. */
function nameOf({ method, params }: JsonRpcRequest): string | undefined {
  const name =
    method === 'resources/read'
      ? params?.uri
      : method === 'tools/call' || method === 'prompts/get'
        ? params?.name
        : undefined;
  return typeof name === 'string' ? name : undefined;
}

function compareName(header: string | string[] | undefined, name: string): void {
  if (typeof header !== 'string') throw mismatch('Mcp-Name is missing');
  const decoded = decodeHeaderValue(header);
  if (decoded === undefined) throw mismatch('Mcp-Name is not a valid header value');
  if (decoded !== name) throw mismatch('Mcp-Name differs from the body');
}

function compare(name: string, header: string | string[] | undefined, body: string): void {
  if (header === undefined) throw mismatch(`${name} is missing`);
  if (header !== body) throw mismatch(`${name} differs from the body`);
}

function mismatch(what: string): McpError {
  return new McpError(ErrorCode.HeaderMismatch, `Header mismatch: ${what}`);
}
