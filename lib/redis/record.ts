/** A session's data as fields of a Redis hash, and back. */
import { isObject } from '../protocol/json-rpc';
import { findRevision } from '../protocol/revisions';
import { loggingLevels } from '../protocol/types';
import type { ClientCapabilities, Implementation, LoggingLevel } from '../protocol/types';
import type { SessionRecord } from '../sessions/session-store';

/** Another layout, another version: what is written in one that this process does not know is an ended session. */
const version = '1';

export type Fields = Readonly<Record<string, string>>;

const subscriptionPrefix = 'u:';

/** What never changes is one field; what does is a field each, so that two nodes never undo each other's changes. */
export function encodeRecord(record: SessionRecord): Record<string, string> {
  const { revision, principal, clientInfo, capabilities } = record;
  return {
    v: version,
    r: JSON.stringify({ revision, principal, clientInfo, capabilities }),
    ...encodeChange(undefined, record).set,
  };
}

/** What two states of a session differ in. */
export interface RecordChange {
  readonly set: Record<string, string>;
  readonly remove: readonly string[];
}

/** @param base What the store is known to hold; undefined: nothing is known, and all is written. */
export function encodeChange(base: SessionRecord | undefined, record: SessionRecord): RecordChange {
  const set: Record<string, string> = {};
  if (record.initialized && base?.initialized !== true) set.i = '1';
  if (record.logLevel !== undefined && record.logLevel !== base?.logLevel) set.l = record.logLevel;
  const known = new Set(base?.subscriptions);
  // The number keeps the order in which they came.
  record.subscriptions.forEach((uri, index) => {
    if (!known.has(uri)) set[subscriptionPrefix + uri] = String(index);
  });
  const wanted = new Set(record.subscriptions);
  return { set, remove: [...known].filter((uri) => !wanted.has(uri)).map((uri) => subscriptionPrefix + uri) };
}

/** @returns Undefined for what cannot be read: the session has ended, as far as this process can tell. */
export function decodeRecord(id: string, fields: Fields): SessionRecord | undefined {
  if (fields.v !== version || fields.r === undefined) return undefined;
  let fixed: unknown;
  try {
    fixed = JSON.parse(fields.r);
  } catch {
    return undefined; // written by something else
  }
  if (!isObject(fixed)) return undefined;
  const { revision, principal, clientInfo, capabilities } = fixed;
  if (typeof revision !== 'string' || findRevision(revision)?.era !== 'legacy') return undefined;
  if (principal !== undefined && typeof principal !== 'string') return undefined;
  if (!isObject(clientInfo) || !isObject(capabilities)) return undefined;
  // Where its notices begin.
  if (fields.q !== undefined && !/^\d{1,16}$/.test(fields.q)) return undefined;
  if (fields.l !== undefined && !loggingLevels.includes(fields.l as LoggingLevel)) return undefined;
  return {
    id,
    revision,
    principal,
    clientInfo: clientInfo as unknown as Implementation,
    capabilities: capabilities as ClientCapabilities,
    ...(fields.h === undefined ? undefined : { listensAt: fields.h }),
    ...(fields.t === undefined ? undefined : { reportedAt: Number(fields.t) }),
    initialized: fields.i === '1',
    logLevel: fields.l as LoggingLevel | undefined,
    subscriptions: Object.keys(fields)
      .filter((field) => field.startsWith(subscriptionPrefix))
      .sort((a, b) => Number(fields[a]) - Number(fields[b]))
      .map((field) => field.slice(subscriptionPrefix.length)),
  };
}
