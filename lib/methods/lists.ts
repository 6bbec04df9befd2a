/** What all lists share: pages, the caller's view, what an older revision shows, caching hints. */
import type { CallContext } from '../call-context';
import type { Cacheable, ServerCore } from '../core';
import { allowAll } from '../authorizer/decisions';
import { ErrorCode, McpError } from '../protocol/errors';
import { isObject } from '../protocol/json-rpc';
import type { Revision } from '../protocol/revisions';
import { isPromise } from '../protocol/promise';

/** The entries that `isShown` lets this caller see, each asked about once. */
export async function visible<T>(
  entries: Iterable<T>,
  isShown: (entry: T) => boolean | Promise<boolean>,
): Promise<T[]> {
  const all = [...entries];
  const asked = all.map((entry) => isShown(entry));
  // One list with a thousand entries waits once at the most.
  const answers = asked.some(isPromise) ? await Promise.all(asked) : asked;
  return all.filter((_, index) => answers[index]);
}

const cursorFormat = /^p([1-9]\d{0,8})$/;

/**
 * One page of `entries`.
 *
 * @throws {McpError} -32602 for a cursor that is none of ours.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination
 */
function pageOf<T>(
  entries: readonly T[],
  cursor: string | null | undefined,
  pageSize: number,
): { page: readonly T[]; nextCursor?: string } {
  const start = cursor === undefined || cursor === null ? 0 : readCursor(cursor);
  if (start > 0 && start >= entries.length)
    throw new McpError(ErrorCode.InvalidParams, 'Invalid params: cursor is past the end of the list');
  const end = start + pageSize;
  const page = start === 0 && end >= entries.length ? entries : entries.slice(start, end);
  return end < entries.length ? { page, nextCursor: cursorOf(end) } : { page };
}

function cursorOf(start: number): string {
  return Buffer.from(`p${start}`).toString('base64url');
}

function readCursor(cursor: string): number {
  const match = cursorFormat.exec(Buffer.from(cursor, 'base64url').toString('latin1'));
  const start = Number(match?.[1]);
  // Node's decoder skips what it does not know: only the way back proves that it is ours.
  if (match === null || cursorOf(start) !== cursor)
    throw new McpError(ErrorCode.InvalidParams, 'Invalid params: cursor is not one that this server gave');
  return start;
}

/** What was projected before, for each revision; kept as long as the definition. */
const projections = new WeakMap<object, Map<string, object>>();

/** A definition as a client of `revision` knows it: without the fields that came later. */
function project<T extends object>(definition: T, revision: Revision): object {
  let known = projections.get(definition);
  if (known === undefined) projections.set(definition, (known = new Map()));
  let projection = known.get(revision.version);
  if (projection === undefined) {
    projection = knownFields(definition, revision);
    known.set(revision.version, projection);
  }
  return projection;
}

function knownFields(definition: object, revision: Revision): object {
  const fields = 'inputSchema' in definition ? revision.toolFields : revision.fields;
  const known = Object.entries(definition).filter(([key, value]) => fields.has(key) && fits(key, value, revision));
  // A prompt's arguments have fields that came later, too.
  const inner = (field: string, value: object[]) =>
    field === 'arguments' ? value.map((argument) => knownFields(argument, revision)) : value;
  return Object.fromEntries(known.map(([field, value]) => [field, inner(field, value)]));
}

function fits(field: string, value: unknown, { structuredContent }: Revision): boolean {
  // Before 2026-07-28 a structured result is an object.
  return field !== 'outputSchema' || structuredContent === 'any' || (isObject(value) && value.type === 'object');
}

/**
 * The caching hints of a result; none for a legacy revision.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
 */
export function cacheHints(
  core: ServerCore,
  what: Cacheable,
  context: CallContext,
  own = core.cache[what],
): object | undefined {
  if (context.era === 'legacy') return undefined;
  const scope = differsByCaller(core, what) ? 'private' : (own?.cacheScope ?? usualScope(core, what));
  return { ttlMs: own?.ttlMs ?? 0, cacheScope: scope };
}

/** What authors compute per call, they may compute per caller; only they know. */
function usualScope(core: ServerCore, what: Cacheable): 'public' | 'private' {
  return what === 'read' || (what === 'resources' && listsPerCall(core)) ? 'private' : 'public';
}

function listsPerCall({ registry }: ServerCore): boolean {
  return [...registry.templates.values()].some(({ config }) => config.list !== undefined);
}

/** One page of a list, as the caller's revision knows its entries. */
export function listResult(
  core: ServerCore,
  what: Exclude<Cacheable, 'discover' | 'read'>,
  shown: readonly { readonly definition: object }[],
  cursor: string | null | undefined,
  context: CallContext,
): object {
  const { page, nextCursor } = pageOf(shown, cursor, core.pageSize);
  return {
    [what]: page.map(({ definition }) => project(definition, context.requestMeta.revision)),
    ...(nextCursor === undefined ? undefined : { nextCursor }),
    ...cacheHints(core, what, context),
  };
}

/** Names a page that is the same for every caller until the list changes, for `Method.keyOf`. */
export function pageKey(what: 'tools' | 'prompts' | 'resources' | 'resourceTemplates') {
  return function keyOfPage(
    core: ServerCore,
    { cursor }: { cursor?: string | null },
    context: CallContext,
  ): string | undefined {
    const isComputed = what === 'resources' && listsPerCall(core);
    return isComputed || differsByCaller(core, what)
      ? undefined
      : `${what} ${core.registry.versions[what === 'resourceTemplates' ? 'resources' : what]} ${context.revision} ${JSON.stringify(cursor ?? null)}`;
  };
}

/** Could two callers get different answers? */
function differsByCaller({ authorizer, readAuthorizer, registry }: ServerCore, what: Cacheable): boolean {
  if (what === 'discover') return false;
  const hook = what === 'tools' ? authorizer : readAuthorizer;
  return (hook !== undefined && hook !== allowAll) || (what === 'tools' && registry.provider !== undefined);
}
