/**
 * `tools/list` and `tools/call`.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools
 */
import { approve } from '../authorizer/approve';
import { authorizeTool, isPromise, isToolShown } from '../authorizer/authorize';
import { allowAll } from '../authorizer/decisions';
import { denialOf, denialResult } from '../authorizer/denial';
import { checkRounds } from '../authorizer/rounds';
import type { CallContext } from '../context';
import type { ServerCore } from '../core';
import { ErrorCode, McpError, readMessage, ToolError } from '../protocol/errors';
import { mirrorMismatch } from '../protocol/mirrored-params';
import { parseCallToolParams, parseListParams } from '../protocol/params';
import type { CallToolParams } from '../protocol/params';
import { describeIssues } from '../protocol/schema';
import type { CallToolResult, InputRequiredResult } from '../protocol/types';
import { createProvidedEntry } from '../registry';
import type { ToolEntry } from '../registry';
import { cacheHints, pageOf, project, visible } from './lists';
import { method } from './method';
import { isErrorResult, toCallToolResult } from './tool-result';

/** A refusal of a call whose tool exists: what the caller sees if it may know that. */
type Refusal = { readonly result: CallToolResult } | { readonly error: McpError };

/** Find the tool, parse its arguments, ask who may, run it. */
export async function callTool(
  core: ServerCore,
  params: CallToolParams,
  context: CallContext,
): Promise<CallToolResult | InputRequiredResult> {
  const registered = core.registry.tools.get(params.name);
  const tool =
    registered ?? (core.registry.provider === undefined ? undefined : await findProvided(core, params.name, context));
  if (tool === undefined) return unknownTool(core, params.name, context, 0);
  context.target = {
    name: params.name,
    args: params.arguments,
    inputResponses: params.inputResponses,
    requestState: params.requestState,
  };

  let args: unknown;
  try {
    checkRounds(context);
    const validation = tool.input.validate(params.arguments);
    const parsed = isPromise(validation) ? await validation : validation;
    if (parsed.issues !== undefined)
      return await refuse(core, tool, context, { result: invalidArguments(tool, describeIssues(parsed.issues)) });
    checkMirrored(tool, params, context);
    args = parsed.value;
  } catch (error) {
    if (!(error instanceof McpError)) throw error;
    return refuse(core, tool, context, { error });
  }

  const deciding = authorizeTool(core, tool, args, context);
  const decision = isPromise(deciding) ? await deciding : deciding;
  if (decision.decision === 'deny') {
    return refuse(core, tool, context, { result: denialResult(denialOf(decision, context)) }, 1);
  }
  if (decision.decision === 'elicit') {
    const outcome = await approve(decision.prompt, context);
    if (outcome === 'asked') return context.rounds!.inputRequired(context);
    if (outcome !== 'approved') return denialResult(outcome);
  }
  if (context.cancelled) throw new McpError(ErrorCode.InternalError, 'The call was cancelled');

  if (tool.stream === 'always' && context.era === 'legacy') context.caller.startStream();
  const timeLimitMs = tool.timeoutMs ?? context.caller.toolTimeoutMs;
  let result: CallToolResult | undefined;
  let failure: unknown;
  try {
    const value = await (timeLimitMs === undefined
      ? tool.handler(args as never, context)
      : withinTime(tool, args, context, timeLimitMs));
    result = await toCallToolResult(tool, value, context.requestMeta.revision);
  } catch (error) {
    failure = error;
    result = toErrorResult(error, core.exposeErrors);
  }
  // Whatever the handler made of being stopped: what it asked must be answered first.
  if (context.rounds !== undefined && context.rounds.asked.size > 0) return context.rounds.inputRequired(context);
  if (result === undefined) throw failure;
  return result;
}

/** The answer for a tool that exists, as far as this caller may know that. @param asked How often the authorizer was asked. */
async function refuse(
  core: ServerCore,
  tool: ToolEntry,
  context: CallContext,
  refusal: Refusal,
  asked = 0,
): Promise<CallToolResult> {
  const shown = isToolShown(core, tool, context);
  if (!(isPromise(shown) ? await shown : shown)) {
    context.challenge = undefined;
    return unknownTool(core, tool.name, context, asked + 1);
  }
  if ('error' in refusal) throw refusal.error;
  return refusal.result;
}

/**
 * The same answer for a name that does not exist and one that is hidden, after the same number of questions to the
 * authorizer: how long the answer takes must not tell them apart either.
 */
async function unknownTool(
  core: ServerCore,
  name: string,
  context: CallContext,
  asked: number,
): Promise<CallToolResult> {
  const [anyTool] = core.registry.tools.values();
  if (core.authorizer !== undefined && core.authorizer !== allowAll && anyTool !== undefined) {
    for (; asked < 2; asked += 1) await isToolShown(core, anyTool, context);
  }
  const message = `Unknown tool: ${name.length > 128 ? `${name.slice(0, 128)}…` : name}`;
  if (!context.requestMeta.revision.unknownToolIsResult) throw new McpError(ErrorCode.InvalidParams, message);
  return { content: [{ type: 'text', text: message }], isError: true };
}

function checkMirrored({ mirrored }: ToolEntry, params: CallToolParams, context: CallContext): void {
  if (mirrored.length === 0 || context.era === 'legacy' || context.request === undefined) return;
  const mismatch = mirrorMismatch(mirrored, params.arguments, context.request.headers);
  if (mismatch !== undefined) throw new McpError(ErrorCode.HeaderMismatch, `Header mismatch: ${mismatch}`);
}

function invalidArguments({ name }: ToolEntry, issues: string): CallToolResult {
  return { content: [{ type: 'text', text: `Invalid arguments for tool ${name}:\n${issues}` }], isError: true };
}

/** Run the handler; at the limit its signal aborts and nobody waits for it any more. */
async function withinTime(tool: ToolEntry, args: unknown, context: CallContext, limitMs: number): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  const expiry = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new ToolError(`The tool did not finish within ${limitMs} ms`);
      reject(error);
      context.expire(error);
    }, limitMs).unref();
  });
  try {
    return await Promise.race([tool.handler(args as never, context), expiry]);
  } finally {
    clearTimeout(timer);
  }
}

function toErrorResult(error: unknown, exposeErrors: boolean): CallToolResult | undefined {
  if (error instanceof ToolError) return isErrorResult(error.message);
  if (exposeErrors && error instanceof Error && !(error instanceof McpError)) return isErrorResult(readMessage(error));
  return undefined;
}

async function findProvided(core: ServerCore, name: string, context: CallContext): Promise<ToolEntry | undefined> {
  const provider = core.registry.provider!;
  const tool = (await provider.listTools(context)).find((listed) => listed.name === name);
  return tool === undefined ? undefined : createProvidedEntry(tool, provider);
}

async function listTools(
  core: ServerCore,
  { cursor }: { cursor?: string | null },
  context: CallContext,
): Promise<object> {
  const { provider, tools } = core.registry;
  const provided =
    provider === undefined
      ? []
      : (await provider.listTools(context)).map((tool) => createProvidedEntry(tool, provider));
  const entries = [...tools.values(), ...provided.filter(({ name }) => !tools.has(name))];
  const shown = await visible(entries, (tool) => isToolShown(core, tool, context));
  const { page, nextCursor } = pageOf(shown, cursor, core.pageSize);
  const { revision } = context.requestMeta;
  return {
    tools: page.map(({ definition }) => project(definition, revision)),
    ...(nextCursor === undefined ? undefined : { nextCursor }),
    ...cacheHints(core, 'tools', context),
  };
}

export const toolMethods = {
  'tools/list': method('tools', 'tools', parseListParams, listTools),
  'tools/call': method('tools', 'tools', parseCallToolParams, callTool),
};
