/** One message in, one response or none out: the whole protocol, whatever the transport. */
import { canAsk } from './authorizer/ask';
import type { CallContext, Challenge } from './call-context';
import { keep } from './core';
import type { ServerCore } from './core';
import { completionMethods } from './methods/completion';
import { lifecycleMethods } from './methods/lifecycle';
import { loggingMethods } from './methods/logging';
import type { Hook, Method } from './methods/method';
import { promptMethods } from './methods/prompts';
import { resourceMethods } from './methods/resources';
import { subscriptionMethods } from './methods/subscriptions';
import { toolMethods } from './methods/tools';
import { ErrorCode, errorResponse, McpError, readMessage, ToolError, UnavailableError } from './protocol/errors';
import { EncodedResult, isObject } from './protocol/json-rpc';
import type { ParsedMessage } from './protocol/json-rpc';
import { parseCancelledParams } from './protocol/params';
import type {
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
  JsonRpcResultResponse,
  RequestId,
} from './protocol/types';

const methods: ReadonlyMap<string, Method> = new Map(
  Object.entries({
    ...lifecycleMethods,
    ...toolMethods,
    ...resourceMethods,
    ...promptMethods,
    ...completionMethods,
    ...loggingMethods,
    ...subscriptionMethods,
  }),
);

/** What came of a message. */
export interface Outcome {
  /** None for a notification or a response. */
  readonly response?: JsonRpcResponse;
  /** A token with these scopes would have been let through; over HTTP the answer is 403 where it still can be. */
  readonly challenge?: Challenge | undefined;
  /** Something that was needed is away; over HTTP the answer is 503 where it still can be. */
  readonly unavailable?: UnavailableError;
}

const nothing: Outcome = Object.freeze({});

/** Whose decision does this message wait for, while nobody has taken it? */
export function hookOf({ method, params }: JsonRpcRequest | JsonRpcNotification): Hook {
  const hook = methods.get(method)?.hook ?? 'any';
  return typeof hook === 'function' ? hook(params) : hook;
}

/** Is this a request's method? A message of that name without an id is a mistake, not a notification. */
export function isRequestMethod(name: string): boolean {
  return methods.has(name);
}

/** Carry out one message. Never rejects: what fails becomes the response. */
export async function dispatch(
  core: ServerCore,
  { kind, message }: ParsedMessage,
  context: CallContext,
): Promise<Outcome> {
  if (kind !== 'request') {
    try {
      await (kind === 'response' ? context.caller.session?.answer(message) : receive(message, context));
    } catch (error) {
      if (error instanceof UnavailableError) return { unavailable: error };
      if (!(error instanceof McpError)) context.fault(error);
    }
    return nothing;
  }
  try {
    const method = findMethod(core, message, context);
    const params = method.parse(message.params) as never;
    const { observer } = core;
    const key = method.keyOf?.(core, params, context);
    const kept = key === undefined ? undefined : core.kept.get(key);
    const result =
      observer === undefined
        ? (kept ?? (await method.run(core, params, context)))
        : await observer.run(context, () => kept ?? method.run(core, params, context));
    const response = { jsonrpc: '2.0' as const, id: message.id, result: finished(core, result, context, key) };
    return context.challenge === undefined ? { response } : { response, challenge: context.challenge };
  } catch (error) {
    const response = toErrorResponse(core, message.id, error, context);
    if (isUnavailable(error)) return { response, unavailable: error };
    return { response, challenge: context.challenge };
  } finally {
    context.end();
  }
}

function findMethod({ registry }: ServerCore, { method: name }: JsonRpcRequest, context: CallContext): Method {
  const found = context.requestMeta.revision.methods.has(name) ? methods.get(name) : undefined;
  // Advertised means it works; what is not advertised does not exist.
  if (found === undefined || (found.feature !== 'core' && !registry.declared.has(found.feature))) {
    throw new McpError(ErrorCode.MethodNotFound, `Method not found: ${name.slice(0, 128)}`);
  }
  return found;
}

/** The result as it travels; one with a key is kept for the next caller. */
function finished(
  core: ServerCore,
  result: unknown,
  context: CallContext,
  key: string | undefined,
): JsonRpcResultResponse['result'] {
  if (result instanceof EncodedResult) return result;
  const complete = context.era === 'modern' ? asModern(core, result as Record<string, unknown>) : result;
  return key === undefined ? (complete as Record<string, unknown>) : keep(core, key, complete);
}

/** basic, "Result Responses" and "Per-response protocol fields": every result has its type and names the server. */
function asModern(core: ServerCore, result: Record<string, unknown>): Record<string, unknown> {
  const meta = result._meta as object | undefined;
  return {
    resultType: 'complete',
    ...result,
    _meta: meta === undefined ? core.resultMeta : { ...core.resultMeta, ...meta },
  };
}

function isUnavailable(error: unknown): error is UnavailableError {
  try {
    return error instanceof UnavailableError;
  } catch {
    // What cannot be looked at is none of ours.
    return false;
  }
}

function toErrorResponse(core: ServerCore, id: RequestId, error: unknown, context: CallContext): JsonRpcResponse {
  try {
    return explain(core, id, error, context);
  } catch (cause) {
    // What was thrown cannot even be looked at (a revoked Proxy, a getter that throws).
    context.fault(new Error('Something was thrown that cannot be read', { cause }));
    return errorResponse(id, ErrorCode.InternalError, 'Internal error');
  }
}

function explain(core: ServerCore, id: RequestId, error: unknown, context: CallContext): JsonRpcResponse {
  if (error instanceof McpError) return errorResponse(id, codeFor(error, context), error.message, error.data);
  if (error instanceof UnavailableError) return errorResponse(id, ErrorCode.InvalidRequest, error.message);
  // A tool's own have become results by now; these are of prompts, resources and completion.
  if (error instanceof ToolError) return errorResponse(id, ErrorCode.InternalError, error.message);
  if (context.cancelled) return errorResponse(id, ErrorCode.InternalError, 'The call was cancelled');
  context.fault(error);
  const exposed = core.exposeErrors && error instanceof Error ? readMessage(error) : 'Internal error';
  return errorResponse(id, ErrorCode.InternalError, exposed);
}

const specified: ReadonlySet<number> = new Set(Object.values(ErrorCode));

/**
 * The code as the caller's revision has it: an author names codes of the specification without asking for the era. One
 * that must not travel is the author's fault.
 */
function codeFor(error: McpError, context: CallContext): ErrorCode {
  const { code } = error;
  const { resourceNotFound, errorCodes } = context.requestMeta.revision;
  if (code === ErrorCode.ResourceNotFound) return resourceNotFound;
  if (!specified.has(code)) {
    if (Number.isInteger(code) && !isReserved(code)) return code;
    context.fault(new Error(`An McpError has the code ${code}, which is no application's`, { cause: error }));
    return ErrorCode.InternalError;
  }
  if (!errorCodes.has(code)) return ErrorCode.InternalError;
  return code === ErrorCode.UrlElicitationRequired && !namesPages(error, context) ? ErrorCode.InternalError : code;
}

/** 2026-07-28, basic, "Error Codes": for codes that the specification defines, and MUST NOT be emitted otherwise. */
function isReserved(code: number): boolean {
  return code <= -32_020 && code >= -32_099;
}

/** 2025-11-25, client/elicitation: the error MUST list the pages that the user must open, to a client that can open them. */
function namesPages(error: McpError, context: CallContext): boolean {
  const { elicitations } = isObject(error.data) ? error.data : {};
  if (Array.isArray(elicitations) && elicitations.length > 0 && elicitations.every(isPage))
    return canAsk(context, 'elicitation.url');
  context.fault(
    new Error('-32042 needs data.elicitations: what elicit asks for a url, each with its mode and elicitationId', {
      cause: error,
    }),
  );
  return false;
}

function isPage(value: unknown): boolean {
  return (
    isObject(value) &&
    value.mode === 'url' &&
    [value.message, value.url, value.elicitationId].every((field) => typeof field === 'string')
  );
}

/** A notification of the client. Unknown ones are ignored, malformed ones too (cancellation, "Error Handling"). */
async function receive({ method, params }: JsonRpcNotification, { caller }: CallContext): Promise<void> {
  if (method === 'notifications/cancelled') {
    const { requestId, reason } = parseCancelledParams(params);
    await caller.cancelCall(requestId, reason ?? 'The client cancelled the call');
  } else if (method === 'notifications/initialized' && caller.session !== undefined) {
    caller.session.record.initialized = true;
    await caller.saveSession();
  }
}
