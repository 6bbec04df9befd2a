/**
 * `prompts/*`.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/prompts
 */
import { approve } from '../authorizer/approve';
import { askInVain, authorizeRead, isReadShown } from '../authorizer/authorize';
import { denialError, denialOf } from '../authorizer/denial';
import { checkRounds } from '../authorizer/rounds';
import type { CallContext } from '../call-context';
import type { ServerCore } from '../core';
import type { PromptReturn } from '../declarations';
import { ErrorCode, McpError } from '../protocol/errors';
import { isObject } from '../protocol/json-rpc';
import { parseGetPromptParams, parseListParams } from '../protocol/params';
import type { Revision } from '../protocol/revisions';
import { describeIssues } from '../protocol/schema';
import type { GetPromptResult, PromptMessage } from '../protocol/types';
import type { PromptEntry } from '../registry';
import { contentFor, isContent } from '../protocol/content';
import { listResult, pageKey, visible } from './lists';
import { method } from './method';
import { refused } from './refused';
import { authored, settle } from './settle';

/** The same answer for a prompt that does not exist and for one that is hidden. @param asked How often the hook was asked. */
export async function unknownPrompt(
  core: ServerCore,
  name: string,
  context: CallContext,
  asked: number,
): Promise<McpError> {
  const [other] = core.registry.prompts.values();
  await askInVain(core.readAuthorizer, asked, other && (() => isPromptShown(core, other, context)));
  return new McpError(ErrorCode.InvalidParams, `Unknown prompt: ${name.slice(0, 128)}`);
}

function isPromptShown(
  core: ServerCore,
  { name, definition }: PromptEntry,
  context: CallContext,
): boolean | Promise<boolean> {
  return isReadShown(core, { operation: 'list', kind: 'prompt', name, definition }, context);
}

type GetPromptParams = ReturnType<typeof parseGetPromptParams>;

async function getPrompt(core: ServerCore, params: GetPromptParams, context: CallContext): Promise<object> {
  const prompt = core.registry.prompts.get(params.name);
  if (prompt === undefined) throw await unknownPrompt(core, params.name, context, 0);
  const raw = params.arguments ?? {};
  context.target = {
    name: params.name,
    args: raw,
    inputResponses: params.inputResponses,
    requestState: params.requestState,
  };
  const { name, definition } = prompt;
  /** What the caller gets who may know of the prompt; the others hear that there is none. */
  const refuse = (asked: number, refusal: () => unknown, fault?: unknown): Promise<unknown> => {
    const isShown = isPromptShown(core, prompt, context);
    return refused(context, isShown, refusal, () => unknownPrompt(core, name, context, asked + 1), fault);
  };
  let args: unknown;
  try {
    checkRounds(context);
    const parsed = await prompt.input.validate(raw);
    if (parsed.issues !== undefined)
      throw new McpError(
        ErrorCode.InvalidParams,
        `Invalid arguments for prompt ${name}:\n${describeIssues(parsed.issues)}`,
      );
    args = parsed.value;
  } catch (error) {
    throw await refuse(0, () => error, error);
  }
  const question = { operation: 'call', kind: 'prompt', method: 'prompts/get', name, definition } as const;
  const decision = await authorizeRead(core, { ...question, arguments: args as Record<string, unknown> }, context);
  if (decision.decision === 'deny') throw await refuse(1, () => denialError(denialOf(decision, context)));
  if (decision.decision === 'elicit') {
    const outcome = await approve(decision.prompt, context);
    if (outcome === 'asked') return context.rounds!.inputRequired(context);
    if (outcome !== 'approved') throw await refuse(1, () => denialError(outcome));
  }
  let result;
  let failure: unknown;
  try {
    result = toPromptResult(prompt, await prompt.handler(args as never, context), context.requestMeta.revision);
  } catch (error) {
    failure = error;
  }
  return settle(context, result, failure);
}

function toPromptResult(
  { name, definition: { description } }: PromptEntry,
  value: PromptReturn,
  revision: Revision,
): GetPromptResult {
  const about = description === undefined ? undefined : { description };
  if (typeof value === 'string')
    return { ...about, messages: [{ role: 'user', content: { type: 'text', text: value } }] };
  const messages: unknown = Array.isArray(value) ? value : isObject(value) ? value.messages : undefined;
  if (!Array.isArray(messages) || !messages.every(isPromptMessage)) {
    throw new TypeError(`prompt "${name}" returned none of text, messages and a GetPromptResult`);
  }
  const known = messages.map((message) => ({ ...message, content: contentFor([message.content], revision)[0]! }));
  return { ...about, ...(Array.isArray(value) ? undefined : authored(value as GetPromptResult)), messages: known };
}

function isPromptMessage(value: unknown): value is PromptMessage {
  return isObject(value) && (value.role === 'user' || value.role === 'assistant') && isContent([value.content]);
}

async function listPrompts(
  core: ServerCore,
  { cursor }: ReturnType<typeof parseListParams>,
  context: CallContext,
): Promise<object> {
  const shown = await visible(core.registry.prompts.values(), (prompt) => isPromptShown(core, prompt, context));
  return listResult(core, 'prompts', shown, cursor, context);
}

export const promptMethods = {
  'prompts/list': method('prompts', 'reads', parseListParams, listPrompts, pageKey('prompts')),
  'prompts/get': method('prompts', 'reads', parseGetPromptParams, getPrompt),
};
