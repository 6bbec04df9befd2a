/** Asks the authorizer, within its time, and turns everything but a decision into a denial. */
import type { CallContext } from '../call-context';
import type { Context } from '../context';
import type { ServerCore } from '../core';
import { isObject } from '../protocol/json-rpc';
import { isPromise, within } from '../protocol/promise';
import type { ToolEntry } from '../registry';
import { allow, allowAll, deny } from './decisions';
import type { Decision, ReadQuestion } from './decisions';
import { undecidedReason } from './denial';

/** Is this a sensitive tool, and nobody has decided who may use it? Then it is denied, and nobody is asked. */
export function isClosed({ authorizerConfigured }: ServerCore, { definition }: ToolEntry): boolean {
  return definition.sensitive && !authorizerConfigured;
}

/** May the caller run this tool with these arguments? A value where the authorizer gives one. */
export function authorizeTool(
  core: ServerCore,
  tool: ToolEntry,
  args: unknown,
  context: CallContext,
): Decision | Promise<Decision> {
  const { name, definition } = tool;
  if (isClosed(core, tool)) {
    return deny(
      `The tool "${name}" is sensitive, and this server has no authorizer to decide who may use it (option "authorizer")`,
    );
  }
  if (core.authorizer === undefined) return allow();
  return decide(
    core,
    core.authorizer,
    { operation: 'call', kind: 'tool', name, definition, arguments: args as Record<string, unknown> },
    context,
  );
}

/** May the caller know that this tool exists? Asking and allowing are both a yes. */
export function isToolShown(
  core: ServerCore,
  { name, definition }: ToolEntry,
  context: CallContext,
): boolean | Promise<boolean> {
  if (core.authorizer === undefined) return true;
  const decision = decide(core, core.authorizer, { operation: 'list', kind: 'tool', name, definition }, context);
  return isPromise(decision) ? isShown(decision) : decision.decision !== 'deny';
}

/** May the caller read, subscribe to, get or complete this? */
export function authorizeRead(
  core: ServerCore,
  question: ReadQuestion,
  context: CallContext,
): Decision | Promise<Decision> {
  return core.readAuthorizer === undefined ? allow() : decide(core, core.readAuthorizer, question, context);
}

/** May the caller know that this resource, template or prompt exists? */
export function isReadShown(
  core: ServerCore,
  question: ReadQuestion & { operation: 'list' },
  context: CallContext,
): boolean | Promise<boolean> {
  const decision = authorizeRead(core, question, context);
  return isPromise(decision) ? isShown(decision) : decision.decision !== 'deny';
}

/** What is hidden is answered after this many questions: one about the call, one about the list. */
const questionsBeforeHiding = 2;

/**
 * Before the answer that there is no such thing: ask on about another entry, in vain, until the authorizer has been
 * asked as often as about a hidden one. How long the answer takes must not tell the two apart either.
 *
 * @param asked How often it was asked already.
 * @param isShown Ask once more; undefined where there is nothing that could be hidden.
 */
export async function askInVain(
  hook: unknown,
  asked: number,
  isShown: (() => boolean | Promise<boolean>) | undefined,
): Promise<void> {
  if (hook === undefined || hook === allowAll || isShown === undefined) return;
  for (; asked < questionsBeforeHiding; asked += 1) await isShown();
}

async function isShown(decision: Promise<Decision>): Promise<boolean> {
  return (await decision).decision !== 'deny';
}

interface Question {
  readonly operation: 'call' | 'list';
  readonly kind: string;
  readonly name: string;
}

const undecided = deny(undecidedReason);

function decide<Q extends Question>(
  core: ServerCore,
  authorizer: (question: Q, context: Context) => Decision | Promise<Decision>,
  question: Q,
  context: CallContext,
): Decision | Promise<Decision> {
  try {
    const decision = authorizer(question, context);
    return isPromise(decision) ? waitFor(core, decision, question, context) : checked(decision, question, context);
  } catch (error) {
    return failed(error, question, context);
  }
}

async function waitFor(
  core: ServerCore,
  pending: Promise<Decision>,
  question: Question,
  context: CallContext,
): Promise<Decision> {
  const { authorizerTimeoutMs: limitMs } = core;
  try {
    const decision = await within(pending, limitMs, () => new Error(`no decision within ${limitMs} ms`));
    return checked(decision, question, context);
  } catch (error) {
    return failed(error, question, context);
  }
}

function checked(decision: unknown, question: Question, context: CallContext): Decision {
  if (isDecision(decision)) return decision;
  return failed(new TypeError('the answer is none of allow(), deny() and elicit()'), question, context);
}

function isDecision(value: unknown): value is Decision {
  if (!isObject(value)) return false;
  const { decision, reason, scopes, prompt } = value;
  switch (decision) {
    case 'allow':
      return true;
    case 'deny':
      return typeof reason === 'string' && (scopes === undefined || Array.isArray(scopes));
    case 'elicit':
      return isObject(prompt) && typeof prompt.message === 'string';
    default:
      return false;
  }
}

function failed(cause: unknown, { operation, kind, name }: Question, context: CallContext): Decision {
  const doing = operation === 'list' ? `listing ${kind} "${name}"` : `a call of ${kind} "${name}"`;
  context.fault(
    new Error(
      `The authorizer failed while deciding about ${doing}: ${cause instanceof Error ? cause.message : 'not an Error'}`,
      { cause },
    ),
  );
  return undecided;
}
