/** The three answers of an authorizer, and the questions it gets. */
import type { Context } from '../context';
import type { ToolDefinition } from '../declarations';
import type { Schema } from '../protocol/schema';
import type { Prompt, Resource, ResourceTemplate } from '../protocol/types';

/** What to ask the human. */
export interface ApprovalPrompt {
  /** What is about to happen, in plain words. */
  message: string;
  /** More to ask for: a schema of a flat object. The handler finds the answers in `context.approval`. */
  fields?: Schema;
}

/** An authorizer's answer. Made by {@link allow}, {@link deny} and {@link elicit}; anything else denies. */
export type Decision =
  | { readonly decision: 'allow' }
  | { readonly decision: 'deny'; readonly reason: string; readonly scopes?: readonly string[] }
  | { readonly decision: 'elicit'; readonly prompt: ApprovalPrompt };

const allowed: Decision = Object.freeze({ decision: 'allow' });

/** Let the call run. */
export function allow(): Decision {
  return allowed;
}

/**
 * Refuse the call.
 *
 * @param reason Read by the model: what is missing, and what to do about it.
 * @param options `scopes` that a token would need; over HTTP the answer is then 403 with `insufficient_scope`.
 */
export function deny(reason: string, { scopes }: { scopes?: readonly string[] } = {}): Decision {
  if (typeof reason !== 'string') throw new TypeError('deny(reason): reason must be a string that the model can read');
  if (scopes !== undefined && !(Array.isArray(scopes) && scopes.every((scope) => typeof scope === 'string')))
    throw new TypeError('deny(reason, { scopes }): scopes must be an array of strings');
  return scopes === undefined ? { decision: 'deny', reason } : { decision: 'deny', reason, scopes };
}

/**
 * Ask the human first; the call runs only after an explicit yes.
 *
 * @param prompt The message, or a message with `fields` to ask for besides.
 */
export function elicit(prompt: string | ApprovalPrompt): Decision {
  const full = typeof prompt === 'string' ? { message: prompt } : prompt;
  if (typeof full?.message !== 'string' || full.message === '') {
    throw new TypeError('elicit(prompt): needs a message for the human to read');
  }
  return { decision: 'elicit', prompt: full };
}

/** May the caller know of this tool (`'list'`), or run it with these arguments (`'call'`)? */
export type ToolQuestion =
  | {
      readonly operation: 'call';
      readonly kind: 'tool';
      readonly name: string;
      readonly definition: ToolDefinition;
      readonly arguments: Record<string, unknown>;
    }
  | { readonly operation: 'list'; readonly kind: 'tool'; readonly name: string; readonly definition: ToolDefinition };

/** May the caller know of this resource or prompt (`'list'`), or use it (`'call'`)? */
export type ReadQuestion = { readonly name: string } & (
  | { readonly operation: 'list'; readonly kind: 'resource'; readonly definition: Resource; readonly uri: string }
  | { readonly operation: 'list'; readonly kind: 'resourceTemplate'; readonly definition: ResourceTemplate }
  | { readonly operation: 'list'; readonly kind: 'prompt'; readonly definition: Prompt }
  | {
      readonly operation: 'call';
      readonly kind: 'resource';
      readonly method: 'resources/read' | 'resources/subscribe';
      readonly definition: Resource | ResourceTemplate;
      readonly uri: string;
      /** The template's variables, decoded. */
      readonly arguments: Record<string, unknown>;
    }
  | {
      readonly operation: 'call';
      readonly kind: 'resourceTemplate';
      readonly method: 'completion/complete';
      readonly definition: ResourceTemplate;
      readonly arguments: Record<string, unknown>;
    }
  | {
      readonly operation: 'call';
      readonly kind: 'prompt';
      readonly method: 'prompts/get' | 'completion/complete';
      readonly definition: Prompt;
      readonly arguments: Record<string, unknown>;
    }
);

/** Decides about tools. Runs on every call, with the caller of that call; one that throws or is too slow denies. */
export type Authorizer = (call: ToolQuestion, context: Context) => Decision | Promise<Decision>;

/** Decides about resources, prompts and completion. */
export type ReadAuthorizer = (call: ReadQuestion, context: Context) => Decision | Promise<Decision>;

/** The authorizer that always allows: the explicit choice of a server whose tools anyone may use. */
export const allowAll: Authorizer & ReadAuthorizer = function allowAll() {
  return allowed;
};
