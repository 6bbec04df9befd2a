/** Modern questions: what a call has asked and been answered, over its rounds, travelling sealed through the client. */
import { nanoid } from 'nanoid';
import type { CallContext, CallTarget } from '../call-context';
import { ErrorCode, McpError, ToolError } from '../protocol/errors';
import { isObject } from '../protocol/json-rpc';
import { within } from '../protocol/promise';
import type { ClientFeature } from '../protocol/revisions';
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
  /** The handler's questions that are open. */
  readonly asked?: readonly string[];
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
  /** What was to be asked of a client that cannot be asked it, by the error that said so. */
  readonly missing = new Map<unknown, ClientFeature>();
  /** Sealed at the next question: an approval that was asked, or has been given. */
  approval: SealedApproval | undefined;
  /** What came sealed: the approval to redeem. */
  readonly redeemable: (SealedApproval & { readonly expiresAt: number }) | undefined;
  readonly #responses: Record<string, unknown>;
  readonly #answers: Map<string, unknown>;
  readonly #once: Map<string, unknown>;
  readonly #running = new Map<string, Promise<unknown>>();
  /** Handler's questions of the round before. */
  readonly #open: ReadonlySet<string>;

  constructor(responses: Record<string, unknown>, sealed: SealedState | undefined) {
    this.#responses = responses;
    this.#answers = new Map(Object.entries(sealed?.answers ?? {}));
    this.#once = new Map(Object.entries(sealed?.once ?? {}));
    this.#open = new Set(sealed?.asked);
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

  /** Keep the answers just sent for the rounds to come, as far as they were asked for: the handler does not run in this one. */
  keepAnswers(): void {
    // basic/patterns/mrtr, "Error Handling": what was not asked for SHOULD be ignored.
    for (const [key, answer] of Object.entries(this.#responses))
      if (this.#open.has(key)) this.#answers.set(key, answer);
  }

  /** An answer that does not fit: it is asked for again. */
  forget(key: string): void {
    this.#answers.delete(key);
  }

  /** Run `fn` unless an earlier round has, or it is running; its result is sealed at the next question. */
  async once<T>(key: string, fn: () => T | Promise<T>): Promise<T> {
    if (this.#once.has(key)) return this.#once.get(key) as T;
    const shared = this.#running.get(key);
    if (shared !== undefined) return shared as Promise<T>;
    const running = (async () => {
      const value = await fn();
      this.#once.set(key, value);
      return value;
    })();
    this.#running.set(key, running);
    try {
      return await running;
    } finally {
      this.#running.delete(key);
    }
  }

  /**
   * The result that asks all open questions, with everything so far sealed into it.
   *
   * @param limitMs How long what runs once may still take.
   * @throws {ToolError} if it takes longer: asking would run it again.
   * @throws {McpError} -32602 if there is more in the answers than can travel.
   */
  async inputRequired(context: CallContext, limitMs?: number): Promise<InputRequiredResult> {
    // An effect begun beside the question must not be repeated in the next round.
    if (this.#running.size > 0) await this.#settled(context, limitMs);
    const handlers = [...this.asked.keys()].filter((key) => !key.startsWith(reservedPrefix));
    const state: SealedState = {
      answers: Object.fromEntries(this.#answers),
      ...(handlers.length === 0 ? undefined : { asked: handlers }),
      // What JSON cannot carry (undefined) is carried as null.
      once: Object.fromEntries([...this.#once].map(([key, value]) => [key, value === undefined ? null : value])),
      ...(this.approval === undefined ? undefined : { approval: this.approval }),
      expiresAt: Date.now() + stateTtlMs,
    };
    return {
      resultType: 'input_required',
      inputRequests: Object.fromEntries(this.asked),
      requestState: seal(state, context),
    };
  }

  async #settled(context: CallContext, limitMs: number | undefined): Promise<void> {
    const settled = Promise.allSettled(this.#running.values());
    if (limitMs === undefined) return void (await settled);
    await within(
      settled,
      limitMs,
      () => new ToolError('What the tool runs once did not finish in time'),
      (error) => context.expire(error),
    );
  }
}

function seal(state: SealedState, context: CallContext): string {
  const { states } = context.core;
  const binding = bindingOf(context);
  try {
    return states.seal(state, binding, stateTtlMs);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    // What is too large without the answers, too, is the author's.
    states.seal({ ...state, answers: {} }, binding, stateTtlMs);
    throw new McpError(ErrorCode.InvalidParams, 'The answers are larger than can travel: 64 KiB', undefined, { cause });
  }
}

/** An approval's nonce: unguessable, spent once. */
export function createNonce(): string {
  return nanoid();
}

/** The rounds of this call, opened from what the client sent. @throws {McpError} -32602 if that is malformed or forged. */
export function roundsOf(context: CallContext): Rounds {
  // To a legacy request answers and state are fields like any unknown ones.
  if (context.era === 'legacy') return (context.rounds ??= new Rounds({}, undefined));
  if (context.target === undefined) throw new TypeError('Only tools, prompts and resources may ask the client');
  return (context.rounds ??= openRounds(context, context.target));
}

/** Open what the client sent along, if it sent anything: forged state is refused even where nothing is asked. */
export function checkRounds(context: CallContext): void {
  const { inputResponses, requestState } = context.target!;
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
