/** An authorizer that a spec steers, the questions it leads to in both eras, and their answers. */
import { allow } from 'express-mcp';
import type { Context, Decision } from 'express-mcp';
import type { LegacySession, Message, ModernClient, Reply, Stream } from './wire';

/** Whose client can show a form. */
export const forms = { elicitation: {} };

/** The answers that are a yes: there is one. */
export const yes = { action: 'accept', content: { approve: true } };

/** Answers that are no yes, though they are answers. */
export const notYes: readonly (readonly [what: string, answer: Record<string, unknown>])[] = [
  ['decline', { action: 'decline' }],
  ['cancel', { action: 'cancel' }],
  ['decline with a yes inside', { action: 'decline', content: { approve: true } }],
  ['accept without content', { action: 'accept' }],
  ['accept without approval', { action: 'accept', content: {} }],
  ['accept with a no', { action: 'accept', content: { approve: false } }],
  ['accept with the word true', { action: 'accept', content: { approve: 'true' } }],
  ['accept with a number', { action: 'accept', content: { approve: 1 } }],
  ['accept with a list', { action: 'accept', content: { approve: ['true'] } }],
  ['accept with another name', { action: 'accept', content: { Approve: true, approved: true } }],
  ['accept with the yes beside the content', { action: 'accept', approve: true, content: {} }],
  ['accept with content that is a list', { action: 'accept', content: [true] }],
  [
    'accept with the yes inherited',
    JSON.parse('{"action":"accept","content":{"__proto__":{"approve":true}}}') as object,
  ],
  ['another action', { action: 'approve', content: { approve: true } }],
  ['no action', { content: { approve: true } }],
  ['nothing', {}],
].map(([what, answer]) => [what as string, answer as Record<string, unknown>] as const);

/** Where a denied caller finds why. */
export const denialKey = 'io.github.express-mcp/authorization';

/** The key of the authorizer's question, modern era. */
export const approvalKey = 'io.github.express-mcp/approval';

interface Question {
  readonly operation: 'call' | 'list';
  readonly kind: string;
  readonly name: string;
}

/** What an authorizer was asked. */
export interface Asked<Q extends Question = Question> {
  readonly call: Q;
  readonly context: Context;
}

export interface Policy<Q extends Question> {
  /** What to answer; may be changed at any time. */
  decide: (call: Q, context: Context) => Decision | Promise<Decision>;
  readonly asked: Asked<Q>[];
  /** "call echo", "list echo": what was asked since the last look. */
  taken(): string[];
  readonly hook: (call: Q, context: Context) => Decision | Promise<Decision>;
}

/** A hook whose answers change while the server runs. */
export function createPolicy<Q extends Question>(decide: Policy<Q>['decide'] = () => allow()): Policy<Q> {
  const policy: Policy<Q> = {
    decide,
    asked: [],
    taken: () => policy.asked.splice(0).map(({ call: { operation, name } }) => `${operation} ${name}`),
    hook(call, context) {
      policy.asked.push({ call, context });
      return policy.decide(call, context);
    },
  };
  return policy;
}

/** Legacy: the next question on a stream. */
export async function questionOn(stream: Stream): Promise<Message & { id: string }> {
  return (await stream.find(({ method }) => method === 'elicitation/create')) as Message & { id: string };
}

/** Legacy: the answer to the call itself. */
export function responseOn(stream: Stream): Promise<Message> {
  return stream.find((message) => 'result' in message || 'error' in message);
}

/** Legacy: answer a question. */
export function answer(session: LegacySession, id: unknown, result: object): Promise<Reply> {
  return session.post({ jsonrpc: '2.0', id, result });
}

/** Why a call was denied; throws when it was not. */
export function denialIn(response: Message | undefined): Record<string, unknown> {
  const { result, error } = response ?? {};
  const holder = (result?._meta ?? error?.data) as Record<string, unknown> | undefined;
  const denial = holder?.[denialKey] as Record<string, unknown> | undefined;
  if (denial === undefined || (result !== undefined && result.isError !== true))
    throw new Error(`Not a denial: ${JSON.stringify(response)}`);
  return denial;
}

/** Modern: the questions in an answer; throws when it asks none. */
export function questionsIn({ response, text }: Reply): {
  requests: Record<string, { method: string; params: Record<string, unknown> }>;
  requestState: string;
} {
  const { resultType, inputRequests, requestState } = response?.result ?? {};
  if (resultType !== 'input_required') throw new Error(`Asks nothing: ${text}`);
  return { requests: inputRequests as never, requestState: requestState as string };
}

/** Modern: a client whose user can be asked, and its calls with the answers of earlier rounds. */
export function asker(client: ModernClient, capabilities: object = forms) {
  return {
    call: (name: string, args: object = {}, rounds: { requestState?: unknown; inputResponses?: unknown } = {}) =>
      client.request('tools/call', { name, arguments: args, ...rounds }, { capabilities }),
    request: (method: string, params: Record<string, unknown>) => client.request(method, params, { capabilities }),
  };
}

/** Modern: what to send along to answer the authorizer's question in `reply`. */
export function approvalOf(reply: Reply, given: unknown = yes): { requestState: string; inputResponses: object } {
  return { requestState: questionsIn(reply).requestState, inputResponses: { [approvalKey]: given } };
}
