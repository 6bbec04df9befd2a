/**
 * `resources/*`.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/resources
 */
import { approve } from '../authorizer/approve';
import { askInVain, authorizeRead, isReadShown } from '../authorizer/authorize';
import type { ApprovalPrompt, ReadQuestion } from '../authorizer/decisions';
import { denialError, denialOf } from '../authorizer/denial';
import type { Denial } from '../authorizer/denial';
import { checkRounds } from '../authorizer/rounds';
import type { CallContext } from '../call-context';
import type { ServerCore } from '../core';
import type { ResourceReturn } from '../declarations';
import { ErrorCode, McpError } from '../protocol/errors';
import { isObject } from '../protocol/json-rpc';
import { parseListParams, parseReadParams, parseUriParams } from '../protocol/params';
import type { Revision } from '../protocol/revisions';
import type { InputRequiredResult, ReadResourceResult, Resource } from '../protocol/types';
import type { ResourceEntry, TemplateEntry } from '../registry';
import { contentsFor, isContents } from '../protocol/content';
import { cacheHints, pageKey, pageOf, project, visible } from './lists';
import { method } from './method';
import { authored, settle } from './settle';

/** A session may subscribe to this many resources, whose uris have so many characters together: it keeps them. */
const maxSubscriptions = 1_000;
const maxSubscribedLength = 262_144;

/** What a uri names. */
type Found =
  | { readonly entry: ResourceEntry; readonly variables: Record<string, string> }
  | { readonly entry: TemplateEntry; readonly variables: Record<string, string> | 'malformed' };

function find(core: ServerCore, uri: string): Found | undefined {
  const entry = core.registry.resources.get(uri);
  if (entry !== undefined) return { entry, variables: {} };
  for (const template of core.registry.templates.values()) {
    const variables = template.template.match(uri);
    if (variables !== undefined) return { entry: template, variables };
  }
  return undefined;
}

function listQuestion({ name, definition }: ResourceEntry | TemplateEntry): ReadQuestion & { operation: 'list' } {
  return 'uri' in definition
    ? { operation: 'list', kind: 'resource', name, definition, uri: definition.uri }
    : { operation: 'list', kind: 'resourceTemplate', name, definition };
}

/** The same answer for what does not exist and what is hidden. @param asked How often the hook was asked. */
async function notFound(core: ServerCore, uri: string, context: CallContext, asked: number): Promise<McpError> {
  const { resources, templates } = core.registry;
  const [other = [...templates.values()][0]] = resources.values();
  await askInVain(core.readAuthorizer, asked, other && (() => isReadShown(core, listQuestion(other), context)));
  return new McpError(context.requestMeta.revision.resourceNotFound, `Resource not found: ${uri.slice(0, 256)}`, {
    uri,
  });
}

/** What this caller may use `uri` for. @throws {McpError} as if it did not exist, where the caller may not know of it. */
async function permitted(
  core: ServerCore,
  uri: string,
  operation: 'resources/read' | 'resources/subscribe',
  context: CallContext,
): Promise<{ entry: ResourceEntry | TemplateEntry; variables: Record<string, string>; ask?: InputRequiredResult }> {
  const found = find(core, uri);
  if (found === undefined) throw await notFound(core, uri, context, 0);
  const { entry, variables } = found;
  /** What the caller gets who may know of the entry; the others hear that there is none. */
  const refuse = async (asked: number, refusal: () => McpError): Promise<never> => {
    const shown = await isReadShown(core, listQuestion(entry), context);
    throw shown ? refusal() : await notFound(core, uri, context, asked + 1);
  };
  if (variables === 'malformed')
    return refuse(
      0,
      () => new McpError(ErrorCode.InvalidParams, 'Invalid params: uri has malformed percent-encoding', { uri }),
    );
  try {
    if (context.target !== undefined) checkRounds(context);
  } catch (error) {
    return refuse(0, () => error as McpError);
  }
  const { name, definition } = entry;
  const decision = await authorizeRead(
    core,
    { operation: 'call', kind: 'resource', method: operation, name, definition, uri, arguments: variables },
    context,
  );
  if (decision.decision === 'deny') return refuse(1, () => denialError(denialOf(decision, context)));
  if (decision.decision === 'elicit') {
    const outcome =
      context.era === 'modern' && operation === 'resources/subscribe'
        ? cannotAsk(decision.prompt)
        : await approve(decision.prompt, context);
    if (outcome === 'asked') return { entry, variables, ask: await context.rounds!.inputRequired(context) };
    if (outcome !== 'approved') return refuse(1, () => denialError(outcome));
  }
  return { entry, variables };
}

/** basic/patterns/mrtr, "Supported Requests": `subscriptions/listen` is none that could be answered with a question. */
function cannotAsk({ message }: ApprovalPrompt): Denial {
  return {
    code: 'authorization_required',
    reason: 'This needs approval, and a subscription cannot ask for it',
    prompt: message,
  };
}

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
  const { page, nextCursor } = pageOf(shown, cursor, core.pageSize);
  return {
    resources: page.map(({ definition }) => project(definition, context.requestMeta.revision)),
    ...(nextCursor === undefined ? undefined : { nextCursor }),
    ...cacheHints(core, 'resources', context),
  };
}

async function listTemplates(core: ServerCore, { cursor }: ListParams, context: CallContext): Promise<object> {
  const shown = await visible(core.registry.templates.values(), (entry) =>
    isReadShown(core, listQuestion(entry), context),
  );
  const { page, nextCursor } = pageOf(shown, cursor, core.pageSize);
  return {
    resourceTemplates: page.map(({ definition }) => project(definition, context.requestMeta.revision)),
    ...(nextCursor === undefined ? undefined : { nextCursor }),
    ...cacheHints(core, 'resourceTemplates', context),
  };
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

/** May this caller hear that `uri` has changed? */
export async function maySubscribe(core: ServerCore, uri: string, context: CallContext): Promise<boolean> {
  try {
    await permitted(core, uri, 'resources/subscribe', context);
    return true;
  } catch (error) {
    if (!(error instanceof McpError)) throw error;
    // Not heard of, rather than refused: nothing is demanded of the caller.
    context.challenge = undefined;
    return false;
  }
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
