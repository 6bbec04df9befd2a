/** What nodes tell each other, as it comes in: anybody who reaches this Redis can say anything on its channels. */
import { isObject, isRequestId } from '../protocol/json-rpc';
import type { SessionEndReason } from '../sessions/session';
import type { NodeMessage } from '../sessions/shared-store';

type Check = (value: unknown) => boolean;

const isString: Check = (value) => typeof value === 'string';
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isOptional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);

const endReasons: Record<SessionEndReason, true> = {
  client: true,
  idle: true,
  evicted: true,
  'inbox-full': true,
  expired: true,
  shutdown: true,
};

/** A question is JSON in JSON. */
const isMessageText: Check = (value) => {
  try {
    return isString(value) && isObject(JSON.parse(value as string));
  } catch {
    return false; // what is no JSON is no message
  }
};

const notice = { message: isObject, mergeKey: isOptional(isString), uri: isOptional(isString) };

/** What each kind has, beside its kind. */
const kinds: { readonly [Kind in NodeMessage['kind']]: Readonly<Record<string, Check>> } = {
  ended: { id: isString, reason: (value) => isString(value) && Object.hasOwn(endReasons, value as string) },
  changed: { id: isString },
  answer: { id: isString, response: (value) => isObject(value) && isRequestId(value.id) },
  cancel: { id: isString, requestId: isRequestId, reason: isString },
  notice: { from: isString, seq: isCount, notice: (value) => fits(value, notice) && isString(methodOf(value)) },
  wake: { id: isString, streamId: isString },
  taken: { id: isString, streamId: isString, by: isString },
  untold: { id: isString, streamId: isString, position: isCount, by: isString },
  unsaid: { id: isString, streamId: isString, position: isCount },
  letGo: { id: isString, streamId: isString, position: isCount },
  ask: { id: isString, json: isMessageText },
  notAsked: { id: isString, question: isString },
  ping: {},
  resync: {},
};

function fits(value: unknown, checks: Readonly<Record<string, Check>>): value is Record<string, unknown> {
  return isObject(value) && Object.entries(checks).every(([name, check]) => check(value[name]));
}

function methodOf({ message }: Record<string, unknown>): unknown {
  return isObject(message) ? message.method : undefined;
}

/** @returns Undefined for what no node has said. */
export function parseNodeMessage(text: string): NodeMessage | undefined {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return undefined; // the caller says so
  }
  if (!isObject(message) || typeof message.kind !== 'string' || !Object.hasOwn(kinds, message.kind)) return undefined;
  // The table has every field of every kind.
  return fits(message, kinds[message.kind as NodeMessage['kind']]) ? (message as unknown as NodeMessage) : undefined;
}
