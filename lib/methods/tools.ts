/**
 * `tools/list` and `tools/call`.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools
 */
import { approve } from '../authorizer/approve';
import { askInVain, authorizeTool, isClosed, isToolShown } from '../authorizer/authorize';
import { denialOf, denialResult } from '../authorizer/denial';
import { checkRounds } from '../authorizer/rounds';
import type { CallContext } from '../call-context';
import type { ServerCore } from '../core';
import type { ProvidedTool, ToolProvider } from '../declarations';
import { ErrorCode, McpError, readMessage, ToolError } from '../protocol/errors';
import { mirrorMismatch } from '../protocol/mirrored-params';
import { parseCallToolParams, parseListParams } from '../protocol/params';
import type { CallToolParams } from '../protocol/params';
import { isPromise, within } from '../protocol/promise';
import { describeIssues } from '../protocol/schema';
import type { CallToolResult, InputRequiredResult } from '../protocol/types';
import { createProvidedEntry } from '../registry';
import type { ToolEntry } from '../registry';
import { listResult, pageKey, visible } from './lists';
import { method } from './method';
import { refused } from './refused';
import { settle } from './settle';
import { toCallToolResult, toolError } from './tool-result';

/** Find the tool, parse its arguments, ask who may, run it. */
export async function callTool(
  core: ServerCore,
  params: CallToolParams,
  context: CallContext,
): Promise<CallToolResult | InputRequiredResult> {
  let tool = core.registry.tools.get(params.name);
  if (tool === undefined) {
    const { provided, other } = await findProvided(core, params.name, context);
    if (provided === undefined) return unknownTool(core, params.name, context, 0, other);
    tool = provided;
  }
  context.target = {
    name: params.name,
    args: params.arguments,
    inputResponses: params.inputResponses,
    requestState: params.requestState,
  };

  let parsed;
  try {
    // Streamable HTTP, "Server Validation": what the headers say wrongly is refused, whatever else is wrong.
    checkMirrored(tool, params, context);
    checkRounds(context);
    const validation = tool.input.validate(params.arguments);
    parsed = isPromise(validation) ? await validation : validation;
  } catch (error) {
    const refusal = () => {
      throw error;
    };
    return refuse(core, tool, context, 0, refusal, error);
  }
  const { issues } = parsed;
  if (issues !== undefined) return refuse(core, tool, context, 0, () => invalidArguments(tool, describeIssues(issues)));
  const args = parsed.value;

  const deciding = authorizeTool(core, tool, args, context);
  const decision = isPromise(deciding) ? await deciding : deciding;
  if (decision.decision === 'deny') {
    const asked = isClosed(core, tool) ? 0 : 1;
    return refuse(core, tool, context, asked, () => denialResult(denialOf(decision, context)));
  }
  if (decision.decision === 'elicit') {
    const outcome = await approve(decision.prompt, context);
    if (outcome === 'asked') return context.rounds!.inputRequired(context);
    // Whoever has been asked knows of the tool; who cannot be asked may not.
    if (outcome !== 'approved')
      return outcome.code === 'authorization_required'
        ? refuse(core, tool, context, 1, () => denialResult(outcome))
        : denialResult(outcome);
  }
  if (context.cancelled) throw new McpError(ErrorCode.InternalError, 'The call was cancelled');

  if (tool.stream === 'always' && context.era === 'legacy') context.caller.startStream();
  const timeLimitMs = tool.timeoutMs ?? context.caller.toolTimeoutMs;
  const startedAt = timeLimitMs === undefined ? 0 : performance.now();
  let result: CallToolResult | undefined;
  let failure: unknown;
  try {
    const value = await (timeLimitMs === undefined
      ? tool.handler(args as never, context)
      : withinTime(tool, args, context, timeLimitMs));
    const returned = toCallToolResult(tool, value, context.requestMeta.revision);
    result = isPromise(returned) ? await returned : returned;
  } catch (error) {
    failure = error;
    result = toErrorResult(error, core.exposeErrors);
  }
  if (context.rounds !== undefined) {
    const leftMs = timeLimitMs === undefined ? undefined : Math.max(0, startedAt + timeLimitMs - performance.now());
    try {
      return await settle(context, result, failure, leftMs);
    } catch (error) {
      failure = error;
      result = toErrorResult(error, core.exposeErrors);
    }
  }
  if (result === undefined) throw failure;
  return result;
}

/**
 * The answer for a tool that exists, as far as this caller may know that.
 *
 * @param asked How often the authorizer was asked.
 * @param refusal What the caller gets or is thrown if it may.
 * @param fault What went wrong.
 */
function refuse(
  core: ServerCore,
  tool: ToolEntry,
  context: CallContext,
  asked: number,
  refusal: () => CallToolResult,
  fault?: unknown,
): Promise<CallToolResult> {
  const unknown = () => unknownTool(core, tool.name, context, asked + 1, tool);
  return refused(context, isToolShown(core, tool, context), refusal, unknown, fault);
}

/** The same answer for a name that does not exist and one that is hidden. @param other Any tool that could be hidden. */
async function unknownTool(
  core: ServerCore,
  name: string,
  context: CallContext,
  asked: number,
  other: ToolEntry | undefined,
): Promise<CallToolResult> {
  await askInVain(core.authorizer, asked, other && (() => isToolShown(core, other, context)));
  const message = `Unknown tool: ${name.length > 128 ? `${name.slice(0, 128)}…` : name}`;
  if (!context.requestMeta.revision.unknownToolIsResult) throw new McpError(ErrorCode.InvalidParams, message);
  return toolError(message);
}

function checkMirrored({ mirrored }: ToolEntry, params: CallToolParams, context: CallContext): void {
  if (mirrored.length === 0 || context.era === 'legacy' || context.request === undefined) return;
  const mismatch = mirrorMismatch(mirrored, params.arguments, context.request.headers);
  if (mismatch !== undefined) throw new McpError(ErrorCode.HeaderMismatch, `Header mismatch: ${mismatch}`);
}

function invalidArguments({ name }: ToolEntry, issues: string): CallToolResult {
  return toolError(`Invalid arguments for tool ${name}:\n${issues}`);
}

/** Run the handler; at the limit its signal aborts and nobody waits for it any more. */
function withinTime(tool: ToolEntry, args: unknown, context: CallContext, limitMs: number): Promise<unknown> {
  return within(
    tool.handler(args as never, context),
    limitMs,
    () => new ToolError(`The tool did not finish within ${limitMs} ms`),
    (error) => context.expire(error),
  );
}

function toErrorResult(error: unknown, exposeErrors: boolean): CallToolResult | undefined {
  if (error instanceof ToolError) return toolError(error.message);
  if (exposeErrors && error instanceof Error && !(error instanceof McpError)) return toolError(readMessage(error));
  return undefined;
}

/** The provider's tool of that name, or else any other tool of the server. */
async function findProvided(
  core: ServerCore,
  name: string,
  context: CallContext,
): Promise<{ provided?: ToolEntry; other?: ToolEntry }> {
  const { provider, tools } = core.registry;
  const [registered] = tools.values();
  if (provider === undefined) return { other: registered };
  const listed = await provider.listTools(context);
  const named = listed.find((tool) => tool?.name === name);
  const provided = named && readyOrReported(named, provider, context);
  if (provided !== undefined) return { provided };
  return { other: registered ?? (listed[0] && readyOrReported(listed[0], provider, context)) };
}

/** The tool made ready. One that cannot be is a fault that its provider hears of, and takes no other tool with it. */
function readyOrReported(tool: ProvidedTool, provider: ToolProvider, context: CallContext): ToolEntry | undefined {
  try {
    return createProvidedEntry(tool, provider);
  } catch (error) {
    context.fault(error);
    return undefined;
  }
}

/** By name, in the order of the list; of two with one name the registered one, or the first. */
async function allTools(core: ServerCore, context: CallContext): Promise<ReadonlyMap<string, ToolEntry>> {
  const { provider, tools } = core.registry;
  if (provider === undefined) return tools;
  const all = new Map(tools);
  for (const tool of await provider.listTools(context)) {
    const entry = readyOrReported(tool, provider, context);
    if (entry !== undefined && !all.has(entry.name)) all.set(entry.name, entry);
  }
  return all;
}

async function listTools(
  core: ServerCore,
  { cursor }: { cursor?: string | null },
  context: CallContext,
): Promise<object> {
  const tools = await allTools(core, context);
  const shown = await visible(tools.values(), (tool) => isToolShown(core, tool, context));
  return listResult(core, 'tools', shown, cursor, context);
}

export const toolMethods = {
  'tools/list': method('tools', 'tools', parseListParams, listTools, pageKey('tools')),
  'tools/call': method('tools', 'tools', parseCallToolParams, callTool),
};
