/** Which revision a message speaks, and what it says of its client: from its `_meta` (modern) or its session (legacy). */
import type { RequestMeta } from './caller';
import { ErrorCode, McpError } from './protocol/errors';
import { isObject } from './protocol/json-rpc';
import type { ParsedMessage } from './protocol/json-rpc';
import { parseModernMeta, progressTokenOf, protocolVersionKey } from './protocol/params';
import { findRevision, latestLegacyRevision, modernVersions } from './protocol/revisions';
import type { Revision } from './protocol/revisions';
import { defaultLogLevel } from './sessions/session';
import type { Session } from './sessions/session';

/** The revision that a message's `_meta` names, or undefined where it names none: then it is no modern request. */
export function namedRevision(meta: unknown): unknown {
  return isObject(meta) ? meta[protocolVersionKey] : undefined;
}

/** -32022, with what the server does speak. */
export function unsupportedVersion(requested: string): McpError {
  return new McpError(ErrorCode.UnsupportedProtocolVersion, 'Unsupported protocol version', {
    supported: modernVersions,
    requested,
  });
}

/**
 * What a modern request says of itself; undefined if it is not one.
 *
 * @throws {McpError} -32602 for incomplete `_meta`, -32022 for a revision that is not ours, or not modern.
 */
export function readModernMeta(meta: unknown): RequestMeta | undefined {
  const version = namedRevision(meta);
  if (version === undefined) return undefined;
  if (typeof version !== 'string')
    throw new McpError(ErrorCode.InvalidParams, `Invalid params: _meta["${protocolVersionKey}"] must be a string`);
  const revision = findRevision(version);
  if (revision?.era !== 'modern') throw unsupportedVersion(version);
  return modernMeta(revision, meta as Record<string, unknown>);
}

/** @throws {McpError} -32602 for incomplete `_meta`. */
export function modernMeta(revision: Revision, meta: Record<string, unknown>): RequestMeta {
  return { revision, ...parseModernMeta(meta), progressToken: progressTokenOf(meta), meta };
}

const noMeta: Record<string, unknown> = Object.freeze({});

/** A notification says nothing of its client that anybody needs. */
export function notificationMeta(revision: Revision, meta: unknown): RequestMeta {
  return {
    revision,
    clientInfo: undefined,
    clientCapabilities: {},
    logLevel: undefined,
    progressToken: undefined,
    meta: isObject(meta) ? meta : noMeta,
  };
}

/** What a legacy message's session says of its client. Without a session: only enough to answer `initialize` and `ping`. */
export function legacyMeta(session: Session | undefined, { kind, message }: ParsedMessage): RequestMeta {
  const given = kind === 'response' ? undefined : message.params?._meta;
  const meta = isObject(given) ? given : noMeta;
  return {
    revision: session?.revision ?? latestLegacyRevision,
    clientInfo: session?.record.clientInfo,
    clientCapabilities: session?.record.capabilities ?? {},
    logLevel: session?.record.logLevel ?? defaultLogLevel,
    progressToken: progressTokenOf(meta),
    meta,
  };
}
