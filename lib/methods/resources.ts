/**
 * `resources/*`.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/resources
 */
import { isReadShown } from '../authorizer/authorize';
import type { CallContext } from '../call-context';
import type { ServerCore } from '../core';
import type { ResourceReturn } from '../declarations';
import { contentsFor, isContents } from '../protocol/content';
import { ErrorCode, McpError } from '../protocol/errors';
import { isObject } from '../protocol/json-rpc';
import { parseListParams, parseReadParams, parseUriParams } from '../protocol/params';
import type { Revision } from '../protocol/revisions';
import type { ReadResourceResult, Resource } from '../protocol/types';
import type { ResourceEntry, TemplateEntry } from '../registry';
import { cacheHints, listResult, pageKey, visible } from './lists';
import { method } from './method';
import { listQuestion, permitted } from './resource-access';
import { authored, settle } from './settle';

/** A session may subscribe to this many resources, whose uris have so many characters together: it keeps them. */
const maxSubscriptions = 1_000;
const maxSubscribedLength = 262_144;

type ReadParams = ReturnType<typeof parseReadParams>;

async function readResource(
  core: ServerCore,
  { uri, inputResponses, requestState }: ReadParams,
  context: CallContext,
): Promise<object> {
  context.target = { name: uri, args: {}, inputResponses, requestState };
  const { entry, variables, ask } = await permitted(core, uri, 'resources/read', context);
  if (ask !== undefined) return ask;
  let result;
  let failure: unknown;
  try {
    const read = toReadResult(entry, uri, await entry.handler(uri, variables, context), context.requestMeta.revision);
    result = { ...read, ...cacheHints(core, 'read', context, entry.config.cache ?? core.cache.read) };
  } catch (error) {
    failure = error;
  }
  return settle(context, result, failure);
}

function toReadResult(
  { name, definition: { mimeType } }: ResourceEntry | TemplateEntry,
  uri: string,
  value: ResourceReturn,
  revision: Revision,
): ReadResourceResult {
  const about = mimeType === undefined ? { uri } : { uri, mimeType };
  if (typeof value === 'string') return { contents: [{ ...about, text: value }] };
  if (value instanceof Uint8Array) return { contents: [{ ...about, blob: Buffer.from(value).toString('base64') }] };
  const contents: unknown = Array.isArray(value) ? value : isObject(value) ? value.contents : undefined;
  if (!Array.isArray(contents) || !contents.every(isContents)) {
    throw new TypeError(`resource "${name}" returned none of text, bytes, contents and a ReadResourceResult`);
  }
  const known = contentsFor(contents, revision);
  return Array.isArray(value) ? { contents: known } : { ...authored(value as ReadResourceResult), contents: known };
}

type ListParams = ReturnType<typeof parseListParams>;

/** Under the template's name, by which the hook is asked about reading them too. */
async function instancesOf(
  { name, config }: TemplateEntry,
  context: CallContext,
): Promise<{ name: string; definition: Resource }[]> {
  const listed = (await config.list?.(context)) ?? [];
  // Copies: authors may change their objects, and what has been projected is kept as long as the object.
  return listed.map((definition) => ({ name, definition: { ...definition } }));
}

async function listResources(core: ServerCore, { cursor }: ListParams, context: CallContext): Promise<object> {
  const { registry } = core;
  const own = [...registry.resources.values()].map(({ name, definition }) => ({ name, definition }));
  const listed = await Promise.all([...registry.templates.values()].map((template) => instancesOf(template, context)));
  // One uri, one entry: the one registered by itself, or the first.
  const entries = new Map<string, { name: string; definition: Resource }>();
  for (const entry of [...own, ...listed.flat()])
    if (!entries.has(entry.definition.uri)) entries.set(entry.definition.uri, entry);
  const shown = await visible(entries.values(), ({ name, definition }) =>
    isReadShown(core, { operation: 'list', kind: 'resource', name, definition, uri: definition.uri }, context),
  );
  return listResult(core, 'resources', shown, cursor, context);
}

async function listTemplates(core: ServerCore, { cursor }: ListParams, context: CallContext): Promise<object> {
  const shown = await visible(core.registry.templates.values(), (entry) =>
    isReadShown(core, listQuestion(entry), context),
  );
  return listResult(core, 'resourceTemplates', shown, cursor, context);
}

type UriParams = ReturnType<typeof parseUriParams>;

/** @throws {McpError} -32601 where nothing would be heard: there `resources.subscribe` is not advertised either. */
function checkHears({ caller, method: name }: CallContext): void {
  if (!caller.hearsServer) throw new McpError(ErrorCode.MethodNotFound, `Method not found: ${name}`);
}

async function subscribe(core: ServerCore, { uri }: UriParams, context: CallContext): Promise<object> {
  checkHears(context);
  await permitted(core, uri, 'resources/subscribe', context);
  const { session } = context.caller;
  if (session !== undefined && !session.record.subscriptions.includes(uri)) {
    const subscriptions = [...session.record.subscriptions, uri];
    if (subscriptions.length > maxSubscriptions)
      throw new McpError(ErrorCode.InvalidRequest, `A session may subscribe to ${maxSubscriptions} resources`);
    if (subscriptions.reduce((length, one) => length + one.length, 0) > maxSubscribedLength)
      throw new McpError(
        ErrorCode.InvalidRequest,
        `The uris that a session subscribes to may have ${maxSubscribedLength} characters together`,
      );
    session.record.subscriptions = subscriptions;
    await context.caller.saveSession();
  }
  return {};
}

async function unsubscribe(_core: ServerCore, { uri }: UriParams, context: CallContext): Promise<object> {
  checkHears(context);
  const { caller } = context;
  if (caller.session?.record.subscriptions.includes(uri)) {
    caller.session.record.subscriptions = caller.session.record.subscriptions.filter((other) => other !== uri);
    await caller.saveSession();
  }
  return {};
}

export const resourceMethods = {
  'resources/list': method('resources', 'reads', parseListParams, listResources, pageKey('resources')),
  'resources/templates/list': method(
    'resources',
    'reads',
    parseListParams,
    listTemplates,
    pageKey('resourceTemplates'),
  ),
  'resources/read': method('resources', 'reads', parseReadParams, readResource),
  'resources/subscribe': method('resources', 'reads', parseUriParams, subscribe),
  'resources/unsubscribe': method('resources', 'reads', parseUriParams, unsubscribe),
};
