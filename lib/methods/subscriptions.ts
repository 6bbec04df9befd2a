/**
 * `subscriptions/listen`: the modern way to hear of changes.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
 */
import type { CallContext } from '../call-context';
import type { Subscription } from '../caller';
import type { Notice, ServerCore } from '../core';
import { ErrorCode, McpError } from '../protocol/errors';
import { isObject } from '../protocol/json-rpc';
import { parseListenParams, subscriptionIdKey } from '../protocol/params';
import type { JsonRpcNotification, RequestId, SubscriptionFilter } from '../protocol/types';
import { isPromise } from '../protocol/promise';
import { visible } from './lists';
import { method } from './method';
import type { Hook } from './method';
import { maySubscribe } from './resource-access';

const listChanges = {
  'notifications/tools/list_changed': 'toolsListChanged',
  'notifications/prompts/list_changed': 'promptsListChanged',
  'notifications/resources/list_changed': 'resourcesListChanged',
} as const satisfies Record<string, keyof SubscriptionFilter>;

async function listen(
  core: ServerCore,
  { notifications }: ReturnType<typeof parseListenParams>,
  context: CallContext,
): Promise<object> {
  const { caller, requestId: id } = context;
  if (caller.listen === undefined || id === undefined)
    throw new McpError(
      ErrorCode.InvalidRequest,
      'subscriptions/listen answers with a stream, which this client does not accept',
    );
  const honoured = await honouredFilter(core, notifications, context);
  const listening = caller.listen(createSubscription(id, honoured));
  if (isPromise(listening)) await listening;
  return { _meta: { [subscriptionIdKey]: id } };
}

/** What of the wishes the server offers and the caller is permitted. */
async function honouredFilter(
  core: ServerCore,
  asked: SubscriptionFilter,
  context: CallContext,
): Promise<SubscriptionFilter> {
  const { declared } = core.registry;
  const honoured: SubscriptionFilter = {};
  if (asked.toolsListChanged && declared.has('tools')) honoured.toolsListChanged = true;
  if (asked.promptsListChanged && declared.has('prompts')) honoured.promptsListChanged = true;
  if (asked.resourcesListChanged && declared.has('resources')) honoured.resourcesListChanged = true;
  if (asked.resourceSubscriptions !== undefined && declared.has('resources')) {
    const uris = new Set(asked.resourceSubscriptions);
    honoured.resourceSubscriptions = await visible(uris, (uri) => maySubscribe(core, uri, context));
  }
  return honoured;
}

function createSubscription(id: RequestId, filter: SubscriptionFilter): Subscription {
  const uris = filter.resourceSubscriptions === undefined ? undefined : new Set(filter.resourceSubscriptions);
  return {
    id,
    acknowledgement: tagged(
      { jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: { notifications: filter } },
      id,
    ),
    wants({ message, uri }) {
      const field = listChanges[message.method as keyof typeof listChanges] as keyof SubscriptionFilter | undefined;
      return field === undefined
        ? message.method === 'notifications/resources/updated' && uri !== undefined && uris?.has(uri) === true
        : filter[field] === true;
    },
  };
}

/** A notification as subscription `id` gets it; the id is the last that it says. In its own type: 0 stays a number. */
export function tagged({ params = {}, ...message }: JsonRpcNotification, id: RequestId): JsonRpcNotification {
  const { _meta, ...rest } = params;
  const { [subscriptionIdKey]: _, ...meta } = isObject(_meta) ? _meta : {};
  return { ...message, params: { ...rest, _meta: { ...meta, [subscriptionIdKey]: id } } };
}

/** Each notice's JSON for subscriptions, without the end that differs between them. */
const encodings = new WeakMap<Notice, string>();

/** The JSON of {@link tagged}, encoded once for all subscriptions. */
export function encodeTagged(notice: Notice, id: RequestId): string {
  let start = encodings.get(notice);
  if (start === undefined) {
    start = JSON.stringify(tagged(notice.message, 0)).slice(0, -'0}}}'.length);
    encodings.set(notice, start);
  }
  return `${start}${JSON.stringify(id)}}}}`;
}

/** To hear that a resource has changed is a read; to hear of lists is not. */
function hookOfListen(params: Record<string, unknown> | undefined): Hook {
  const notifications = params?.notifications;
  const uris = isObject(notifications) ? notifications.resourceSubscriptions : undefined;
  return Array.isArray(uris) && uris.length > 0 ? 'reads' : 'any';
}

export const subscriptionMethods = {
  'subscriptions/listen': method('core', hookOfListen, parseListenParams, listen),
};
