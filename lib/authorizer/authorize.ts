/** Asks the authorizer, within its time, and turns everything but a decision into a denial. */
import type { CallContext, Context } from '../context';
import type { ServerCore } from '../core';
import type { ToolEntry } from '../registry';
import { allow, deny } from './decisions';
import type { Decision, ReadQuestion } from './decisions';

/** May the caller run this tool with these arguments? A value where the authorizer gives one. */
export function authorizeTool(
  core: ServerCore,
  { name, definition }: ToolEntry,
  args: unknown,
  context: CallContext,
): Decision | Promise<Decision> {
  if (definition.sensitive && !core.authorizerConfigured) {
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

async function isShown(decision: Promise<Decision>): Promise<boolean> {
  return (await decision).decision !== 'deny';
}

export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && typeof (value as Promise<T>).then === 'function';
}

interface Question {
  readonly operation: 'call' | 'list';
  readonly kind: string;
  readonly name: string;
}

/** The same text for every failure: the caller learns nothing of the authorizer's inside. */
const undecided = deny('The authorizer could not decide');

function decide<Q extends Question>(
  core: ServerCore,
  authorizer: (question: Q, context: Context) => Decision | Promise<Decision>,
  question: Q,
  context: CallContext,
): Decision | Promise<Decision> {
  try {
    const decision = authorizer(question, context);
    return isPromise(decision)
      ? waitFor(core, decision, question, context)
      : checked(core, decision, question, context);
  } catch (error) {
    return failed(core, error, question, context);
  }
}

async function waitFor(
  core: ServerCore,
  pending: Promise<Decision>,
  question: Question,
  context: CallContext,
): Promise<Decision> {
  let timer: NodeJS.Timeout | undefined;
  const tooSlow = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`no decision within ${core.authorizerTimeoutMs} ms`)),
      core.authorizerTimeoutMs,
    );
    timer.unref();
  });
  try {
    return checked(core, await Promise.race([pending, tooSlow]), question, context);
  } catch (error) {
    return failed(core, error, question, context);
  } finally {
    clearTimeout(timer);
  }
}

function checked(core: ServerCore, decision: Decision, question: Question, context: CallContext): Decision {
  const kind = (decision as Partial<Decision> | null | undefined)?.decision;
  if (kind === 'allow' || kind === 'deny' || kind === 'elicit') return decision;
  return failed(core, new TypeError('the answer is none of allow(), deny() and elicit()'), question, context);
}

function failed(core: ServerCore, cause: unknown, { operation, kind, name }: Question, context: CallContext): Decision {
  const doing = operation === 'list' ? `listing ${kind} "${name}"` : `a call of ${kind} "${name}"`;
  core.onError(
    new Error(
      `The authorizer failed while deciding about ${doing}: ${cause instanceof Error ? cause.message : 'not an Error'}`,
      { cause },
    ),
    context,
  );
  return undecided;
}
