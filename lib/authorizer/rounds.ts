/** Modern questions: what a call has asked and been answered, over its rounds, travelling sealed through the client. */
import { nanoid } from 'nanoid';
import type { CallContext, CallTarget } from '../call-context';
import { ErrorCode, McpError } from '../protocol/errors';
import { isObject } from '../protocol/json-rpc';
import type { ElicitResult, InputRequest, InputRequiredResult } from '../protocol/types';

/** How long an answer may take; a sealed state older than this is asked anew. */
const stateTtlMs = 600_000;

/** Keys that a handler's questions cannot have. */
export const reservedPrefix = 'io.github.express-mcp/';

/** The key of the authorizer's question. */
export const approvalKey = `${reservedPrefix}approval`;

/** An approval on its way: asked, or given in an earlier round. */
export interface SealedApproval {
  /** Spent at the redemption; single use. */
  readonly nonce: string;
  /** Digest of what was asked. */
  readonly prompt: string;
  /** The human's yes, if an earlier round of this call had it. */
  readonly answer?: ElicitResult;
}

/** What travels sealed. */
interface SealedState {
  readonly answers: Record<string, unknown>;
  readonly once: Record<string, unknown>;
  readonly approval?: SealedApproval;
  readonly expiresAt: number;
}

/** Thrown into a handler to stop it: the client is asked first, then the handler runs again. */
export class InputRequiredStop extends Error {
  override readonly name = 'InputRequiredStop';
  constructor() {
    super('The client is asked first; the handler then runs again from the top. Let this error pass.');
  }
}

/** The rounds of one call. Lives as long as one request; between requests the client holds it. */
export class Rounds {
  /** Questions open now; whoever settles the call sends them all. */
  readonly asked = new Map<string, InputRequest>();
  /** Sealed at the next question: an approval that was asked, or has been given. */
  approval: SealedApproval | undefined;
  /** What came sealed: the approval to redeem. */
  readonly redeemable: (SealedApproval & { readonly expiresAt: number }) | undefined;
  readonly #responses: Record<string, unknown>;
  readonly #answers: Map<string, unknown>;
  readonly #once: Map<string, unknown>;
  readonly #running = new Set<Promise<unknown>>();

  constructor(responses: Record<string, unknown>, sealed: SealedState | undefined) {
    this.#responses = responses;
    this.#answers = new Map(Object.entries(sealed?.answers ?? {}));
    this.#once = new Map(Object.entries(sealed?.once ?? {}));
    if (sealed?.approval !== undefined) this.redeemable = { ...sealed.approval, expiresAt: sealed.expiresAt };
  }

  /** The client's answer to `key`: the one just sent, else one of an earlier round. Kept for the rounds to come. */
  answer(key: string): unknown {
    // Kept before it is checked: a question beside it may stop the handler first.
    if (Object.hasOwn(this.#responses, key)) this.#answers.set(key, this.#responses[key]);
    return this.#answers.get(key);
  }

  /** The client's answer of this request, never of an earlier one. */
  freshAnswer(key: string): unknown {
    return Object.hasOwn(this.#responses, key) ? this.#responses[key] : undefined;
  }

  /** Keep the answers just sent for the rounds to come: the handler does not run in this one. */
  keepAnswers(): void {
    for (const [key, answer] of Object.entries(this.#responses))
      if (!key.startsWith(reservedPrefix)) this.#answers.set(key, answer);
  }

  /** An answer that does not fit: it is asked for again. */
  forget(key: string): void {
    this.#answers.delete(key);
  }

  /** Run `fn` unless an earlier round has; its result is sealed at the next question. */
  async once<T>(key: string, fn: () => T | Promise<T>): Promise<T> {
    if (this.#once.has(key)) return this.#once.get(key) as T;
    const running = (async () => this.#once.set(key, await fn()))();
    this.#running.add(running);
    try {
      await running;
    } finally {
      this.#running.delete(running);
    }
    return this.#once.get(key) as T;
  }

  /** The result that asks all open questions, with everything so far sealed into it. */
  async inputRequired(context: CallContext): Promise<InputRequiredResult> {
    // An effect begun beside the question must not be repeated in the next round.
    if (this.#running.size > 0) await Promise.allSettled(this.#running);
    const state: SealedState = {
      answers: Object.fromEntries(this.#answers),
      // What JSON cannot carry (undefined) is carried as null.
      once: Object.fromEntries([...this.#once].map(([key, value]) => [key, value === undefined ? null : value])),
      ...(this.approval === undefined ? undefined : { approval: this.approval }),
      expiresAt: Date.now() + stateTtlMs,
    };
    return {
      resultType: 'input_required',
      inputRequests: Object.fromEntries(this.asked),
      requestState: context.core.states.seal(state, bindingOf(context), stateTtlMs),
    };
  }
}

/** An approval's nonce: unguessable, spent once. */
export function createNonce(): string {
  return nanoid();
}

/** The rounds of this call, opened from what the client sent. @throws {McpError} -32602 if that is malformed or forged. */
export function roundsOf(context: CallContext): Rounds {
  if (context.target === undefined) throw new TypeError('Only tools, prompts and resources may ask the client');
  return (context.rounds ??= openRounds(context, context.target));
}

/** Open what the client sent along, if it sent anything: forged state is refused even where nothing is asked. */
export function checkRounds(context: CallContext): void {
  const { inputResponses, requestState } = context.target!;
  // To a legacy request these are fields like any unknown ones.
  if (context.era === 'legacy') return;
  if (inputResponses !== undefined || requestState !== undefined) roundsOf(context);
}

function openRounds(context: CallContext, { inputResponses = {}, requestState }: CallTarget): Rounds {
  if (!isObject(inputResponses) || !Object.values(inputResponses).every(isObject)) {
    throw new McpError(ErrorCode.InvalidParams, 'inputResponses must be an object of answers, each an object');
  }
  return new Rounds(inputResponses, requestState === undefined ? undefined : openState(context, requestState));
}

function openState(context: CallContext, requestState: unknown): SealedState | undefined {
  const opened =
    typeof requestState === 'string' ? context.core.states.open(requestState, bindingOf(context)) : 'invalid';
  // basic/patterns/mrtr, "Server Requirements" 4: state that fails verification MUST be rejected.
  if (opened === 'invalid')
    throw new McpError(ErrorCode.InvalidParams, 'requestState is not one that was given for this request');
  // Too old, or sealed by a key that is gone: nobody's fault, so the questions are asked anew.
  return typeof opened === 'string' ? undefined : (opened.payload as SealedState);
}

function bindingOf(context: CallContext) {
  const { name, args } = context.target!;
  return { principal: context.principal, method: context.method, name, args };
}
