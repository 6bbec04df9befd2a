/** The protocol's params and answers, parsed once at the edge. */
import * as z from 'zod';
import { ErrorCode, McpError } from './errors';
import { isObject, isRequestId } from './json-rpc';
import { loggingLevels } from './types';
import type {
  ClientCapabilities,
  CreateMessageResult,
  ElicitResult,
  Implementation,
  ListRootsResult,
  LoggingLevel,
  ProgressToken,
  RequestId,
  SubscriptionFilter,
} from './types';

/** Parse with a schema, or say what is wrong. The schema is made when it is first needed: most processes start more often than they use it. */
function parser<T>(make: () => z.ZodType<T>): (params: unknown) => T {
  let schema: z.ZodType<T> | undefined;
  return function parse(params) {
    const result = (schema ??= make()).safeParse(params ?? {});
    if (result.success) return result.data;
    const [issue] = result.error.issues;
    const where = issue?.path.length ? `${issue.path.join('.')}: ` : '';
    throw new McpError(ErrorCode.InvalidParams, `Invalid params: ${where}${issue?.message ?? 'malformed'}`);
  };
}

// As they came: a copy would lose keys that only look special.
const object = () => z.custom<Record<string, unknown>>(isObject, 'must be an object');
const requestId = () => z.custom<RequestId>(isRequestId, 'must be a string or a safe integer');
// Absent or null: none.
const strings = () =>
  z
    .custom<Record<string, string>>(
      (value) => isObject(value) && Object.values(value).every((field) => typeof field === 'string'),
      'must be an object of strings',
    )
    .nullish();

/** Name and version, and whatever came later. */
function isImplementation(value: unknown): value is Implementation {
  return isObject(value) && typeof value.name === 'string' && typeof value.version === 'string';
}

/** Fields by which a client answers questions; checked by whoever reads them. */
const rounds = () => ({ inputResponses: z.unknown().optional(), requestState: z.unknown().optional() });

export const parseInitializeParams = parser(() =>
  z.object({
    protocolVersion: z.string(),
    capabilities: object().default({}) as unknown as z.ZodType<ClientCapabilities>,
    clientInfo: z.custom<Implementation>(isImplementation, 'must be an object with name and version'),
  }),
);
export const parseListParams = parser(() => z.object({ cursor: z.string().nullish() }));
export const parseNoParams = parser(() => z.object({}));
export const parseReadParams = parser(() => z.object({ uri: z.string().min(1), ...rounds() }));
export const parseUriParams = parser(() => z.object({ uri: z.string().min(1) }));
export const parseGetPromptParams = parser(() =>
  z.object({ name: z.string().min(1), arguments: strings(), ...rounds() }),
);
export const parseSetLevelParams = parser(() => z.object({ level: z.enum(loggingLevels) }));
export const parseCancelledParams = parser(() => z.object({ requestId: requestId(), reason: z.string().optional() }));
export const parseCompleteParams = parser(() =>
  z.object({
    ref: z.discriminatedUnion('type', [
      z.object({ type: z.literal('ref/prompt'), name: z.string() }),
      z.object({ type: z.literal('ref/resource'), uri: z.string() }),
    ]),
    argument: z.object({ name: z.string(), value: z.string() }),
    context: z.object({ arguments: strings() }).nullish(),
  }),
);
export const parseListenParams = parser(() =>
  z.object({
    notifications: z.object({
      toolsListChanged: z.boolean().optional(),
      promptsListChanged: z.boolean().optional(),
      resourcesListChanged: z.boolean().optional(),
      resourceSubscriptions: z.array(z.string()).max(1_000).optional(),
    }) as z.ZodType<SubscriptionFilter>,
  }),
);

/** What `tools/call` sends. */
export interface CallToolParams {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
  readonly inputResponses: unknown;
  readonly requestState: unknown;
}

/** By hand: the one that every call goes through. Absent arguments are none; null counts as absent. */
export function parseCallToolParams(params: Record<string, unknown> = {}): CallToolParams {
  const { name, arguments: args = {}, inputResponses, requestState } = params;
  if (typeof name !== 'string' || name === '')
    throw new McpError(ErrorCode.InvalidParams, 'Invalid params: name must be the name of a tool');
  if (args !== null && !isObject(args))
    throw new McpError(ErrorCode.InvalidParams, 'Invalid params: arguments must be an object');
  return { name, arguments: args ?? {}, inputResponses, requestState };
}

/** What a modern request says of itself. */
export interface ModernMeta {
  readonly clientInfo: Implementation | undefined;
  readonly clientCapabilities: ClientCapabilities;
  readonly logLevel: LoggingLevel | undefined;
}

const prefix = 'io.modelcontextprotocol/';
/** Where a modern request names its revision. */
export const protocolVersionKey = `${prefix}protocolVersion`;
export const clientCapabilitiesKey = `${prefix}clientCapabilities`;
export const serverInfoKey = `${prefix}serverInfo`;
export const subscriptionIdKey = `${prefix}subscriptionId`;

/**
 * The fields that every modern request carries in `_meta`, apart from the revision.
 *
 * @throws {McpError} -32602 if one is missing or malformed.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic#meta
 */
export function parseModernMeta(meta: Record<string, unknown>): ModernMeta {
  const clientInfo = meta[`${prefix}clientInfo`];
  const clientCapabilities = meta[`${prefix}clientCapabilities`];
  const logLevel = meta[`${prefix}logLevel`];
  if (!isObject(clientCapabilities)) throw invalidMeta('clientCapabilities', 'an object');
  if (clientInfo !== undefined && !isImplementation(clientInfo))
    throw invalidMeta('clientInfo', 'an object with name and version');
  if (logLevel !== undefined && !loggingLevels.includes(logLevel as LoggingLevel))
    throw invalidMeta('logLevel', `one of ${loggingLevels.join(', ')}`);
  return {
    clientInfo,
    clientCapabilities,
    logLevel: logLevel as LoggingLevel | undefined,
  };
}

function invalidMeta(key: string, what: string): McpError {
  return new McpError(ErrorCode.InvalidParams, `Invalid params: _meta["${prefix}${key}"] must be ${what}`);
}

/** The token of `_meta`, if it is one. */
export function progressTokenOf(meta: Record<string, unknown>): ProgressToken | undefined {
  return isRequestId(meta.progressToken) ? meta.progressToken : undefined;
}

const content = () => z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]));
export const parseElicitResult = parser(() =>
  z.object({
    action: z.enum(['accept', 'decline', 'cancel']),
    content: content()
      .nullish()
      .transform((value) => value ?? undefined),
  }),
) as (answer: unknown) => ElicitResult;
const block = () => z.looseObject({ type: z.string() });
export const parseCreateMessageResult = parser(() =>
  z.looseObject({
    role: z.enum(['user', 'assistant']),
    content: z.union([block(), z.array(block())]),
    model: z.string(),
  }),
) as unknown as (answer: unknown) => CreateMessageResult;
export const parseListRootsResult = parser(() =>
  z.looseObject({ roots: z.array(z.looseObject({ uri: z.string() })) }),
) as unknown as (answer: unknown) => ListRootsResult;
