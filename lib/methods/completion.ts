/**
 * `completion/complete`: suggestions for a prompt's arguments and a template's variables.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion
 */
import { askInVain, authorizeRead, isReadShown } from '../authorizer/authorize';
import type { ApprovalPrompt, ReadQuestion } from '../authorizer/decisions';
import { denialError, denialOf } from '../authorizer/denial';
import type { Denial } from '../authorizer/denial';
import type { CallContext } from '../call-context';
import type { ServerCore } from '../core';
import type { Completer } from '../declarations';
import { ErrorCode, McpError } from '../protocol/errors';
import { parseCompleteParams } from '../protocol/params';
import type { Completion } from '../protocol/types';
import type { TemplateEntry } from '../registry';
import { method } from './method';
import { unknownPrompt } from './prompts';
import { refused } from './refused';

/** completion, "Completion Results": at most this many. */
const maxValues = 100;

type CompleteParams = ReturnType<typeof parseCompleteParams>;

/** What is completed: who may, and how. */
interface Target {
  readonly question: ReadQuestion & { operation: 'call' };
  readonly list: ReadQuestion & { operation: 'list' };
  readonly completers: Readonly<Record<string, Completer | undefined>>;
  readonly argumentNames: readonly string[];
}

async function complete(
  core: ServerCore,
  { ref, argument, context: given }: CompleteParams,
  context: CallContext,
): Promise<{ completion: Completion }> {
  const others = given?.arguments ?? {};
  const target = find(core, ref, { ...others, [argument.name]: argument.value });
  if (target === undefined) throw await unknown(core, ref, context, 0);
  const decision = await authorizeRead(core, target.question, context);
  const allowed = decision.decision === 'allow';
  const known = target.argumentNames.includes(argument.name);
  if (!allowed || !known) {
    const refusal = () =>
      allowed
        ? new McpError(ErrorCode.InvalidParams, `Unknown argument: ${argument.name.slice(0, 128)}`)
        : denialError(decision.decision === 'deny' ? denialOf(decision, context) : cannotAsk(decision.prompt));
    const isShown = isReadShown(core, target.list, context);
    throw await refused(context, isShown, refusal, () => unknown(core, ref, context, 2));
  }
  const completer = Object.hasOwn(target.completers, argument.name) ? target.completers[argument.name] : undefined;
  const values = (await completer?.(argument.value, others, context)) ?? [];
  return {
    completion: { values: values.slice(0, maxValues), total: values.length, hasMore: values.length > maxValues },
  };
}

function cannotAsk({ message }: ApprovalPrompt): Denial {
  return {
    code: 'authorization_required',
    reason: 'This needs approval, and completion cannot ask for it',
    prompt: message,
  };
}

/** The same answer for what does not exist and what is hidden. @param asked How often the hook was asked. */
async function unknown(
  core: ServerCore,
  ref: CompleteParams['ref'],
  context: CallContext,
  asked: number,
): Promise<McpError> {
  if (ref.type === 'ref/prompt') return unknownPrompt(core, ref.name, context, asked);
  const [other] = core.registry.templates.values();
  await askInVain(core.readAuthorizer, asked, other && (() => isTemplateShown(core, other, context)));
  return new McpError(ErrorCode.InvalidParams, `Unknown resource template: ${ref.uri.slice(0, 256)}`);
}

function isTemplateShown(
  core: ServerCore,
  { name, definition }: TemplateEntry,
  context: CallContext,
): boolean | Promise<boolean> {
  return isReadShown(core, { operation: 'list', kind: 'resourceTemplate', name, definition }, context);
}

function find({ registry }: ServerCore, ref: CompleteParams['ref'], args: Record<string, string>): Target | undefined {
  const common = { operation: 'call', method: 'completion/complete', arguments: args } as const;
  if (ref.type === 'ref/prompt') {
    const prompt = registry.prompts.get(ref.name);
    if (prompt === undefined) return undefined;
    const { name, definition, complete: completers } = prompt;
    const about = { kind: 'prompt', name, definition } as const;
    return {
      question: { ...common, ...about },
      list: { operation: 'list', ...about },
      completers,
      argumentNames: (definition.arguments ?? []).map((one) => one.name),
    };
  }
  const template = registry.templates.get(ref.uri);
  if (template === undefined) return undefined;
  const {
    name,
    definition,
    config,
    template: { variableNames },
  } = template;
  const about = { kind: 'resourceTemplate', name, definition } as const;
  return {
    question: { ...common, ...about },
    list: { operation: 'list', ...about },
    completers: config.complete ?? {},
    argumentNames: variableNames,
  };
}

export const completionMethods = {
  'completion/complete': method('completions', 'reads', parseCompleteParams, complete),
};
