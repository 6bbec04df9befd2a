/** Carries out an authorizer's `elicit`: asks the human, in the way of the call's era, and runs nothing without a yes. */
import { createHash } from 'node:crypto';
import type { CallContext } from '../call-context';
import { isObject } from '../protocol/json-rpc';
import { parseElicitResult } from '../protocol/params';
import { canonicalJson } from '../protocol/canonical-json';
import type { ElicitResult, InputRequest } from '../protocol/types';
import { canAsk } from './ask';
import type { ApprovalPrompt } from './decisions';
import { undecidedReason } from './denial';
import type { Denial } from './denial';
import { createForm } from './form';
import type { Form } from './form';
import { askClient, UnansweredError } from './parked';
import { approvalKey, createNonce, roundsOf } from './rounds';

/** What came of asking; `asked` only in the modern era, where the client asks and comes back. */
export type Outcome = 'approved' | 'asked' | Denial;

/** The explicit yes, always a boolean. */
const approveField = 'approve';

/** Ask the human about this call. Answers to extra fields become `context.approval`. */
export async function approve(prompt: ApprovalPrompt, context: CallContext): Promise<Outcome> {
  if (!canAsk(context, 'elicitation.form')) return cannotBeAsked(prompt);
  let question: Question;
  try {
    question = approvalQuestion(prompt, context);
  } catch (cause) {
    // What no form can ask for is the authorizer's fault, and not a decision.
    const error = new Error(`The authorizer asks what cannot be asked: ${(cause as Error).message}`, { cause });
    context.fault(error);
    return { code: 'authorization_denied', reason: undecidedReason };
  }
  return context.era === 'legacy' ? approveLegacy(prompt, question, context) : approveModern(prompt, question, context);
}

interface Question {
  readonly request: InputRequest;
  readonly form: Form | undefined;
}

function approvalQuestion({ message, fields }: ApprovalPrompt, context: CallContext): Question {
  const { revision } = context.requestMeta;
  const form = fields === undefined ? undefined : createForm(fields, revision, 'elicit(prompt)');
  if (form !== undefined && approveField in form.requestedSchema.properties) {
    throw new TypeError(`elicit(prompt): the field "${approveField}" is the approval itself; name yours otherwise`);
  }
  const requestedSchema = {
    type: 'object' as const,
    properties: { [approveField]: { type: 'boolean', title: 'Approve' }, ...form?.requestedSchema.properties },
    required: [approveField, ...(form?.requestedSchema.required ?? [])],
  };
  const mode = revision.forms === 'full' ? { mode: 'form' as const } : undefined;
  return { form, request: { method: 'elicitation/create', params: { ...mode, message, requestedSchema } } };
}

async function approveLegacy(
  prompt: ApprovalPrompt,
  { request, form }: Question,
  context: CallContext,
): Promise<Outcome> {
  let answer;
  try {
    answer = await askClient(context, request);
  } catch (error) {
    if (!(error instanceof UnansweredError)) throw error;
    return error.why === 'unreachable' ? cannotBeAsked(prompt) : notApproved(prompt);
  }
  const approval = await readApproval(answer, form);
  if (approval === undefined || context.cancelled) return notApproved(prompt);
  context.approval = approval.fields;
  return 'approved';
}

async function approveModern(
  prompt: ApprovalPrompt,
  { request, form }: Question,
  context: CallContext,
): Promise<Outcome> {
  const rounds = roundsOf(context);
  // A client that goes before the handler starts has cancelled the call, approved or not.
  context.caller.watchDisconnect();
  const digest = createHash('sha256').update(canonicalJson(request)).digest('base64url');
  const sealed = rounds.redeemable?.prompt === digest ? rounds.redeemable : undefined;
  const answer = sealed?.answer ?? rounds.freshAnswer(approvalKey);
  if (sealed !== undefined && answer !== undefined) {
    const approval = await readApproval(answer, form);
    // Spent before the handler starts, and by a no too: a question is answered once.
    const isFirst = await context.core.spent.spend(sealed.nonce, sealed.expiresAt);
    if (approval === undefined || context.cancelled) return notApproved(prompt);
    if (isFirst) {
      context.approval = approval.fields;
      rounds.approval = { nonce: createNonce(), prompt: digest, answer: approval.answer };
      return 'approved';
    }
    // Spent already, or no room to remember: asked anew.
  }
  rounds.approval = { nonce: createNonce(), prompt: digest };
  rounds.asked.set(approvalKey, request);
  rounds.keepAnswers();
  return 'asked';
}

/** An explicit yes, with fields that fit. */
interface Approval {
  /** What a later round reads again: the yes and the fields as they came, nothing that was not asked for. */
  readonly answer: ElicitResult;
  readonly fields?: Record<string, unknown>;
}

async function readApproval(answer: unknown, form: Form | undefined): Promise<Approval | undefined> {
  let result;
  try {
    result = parseElicitResult(answer);
  } catch {
    // Not an answer to this question: not a yes.
    return undefined;
  }
  if (result.action !== 'accept' || result.content?.[approveField] !== true) return undefined;
  const asked = form?.requestedSchema.properties ?? {};
  const given = Object.entries(result.content).filter(([name]) => Object.hasOwn(asked, name));
  const approval = { answer: { ...result, content: { ...Object.fromEntries(given), [approveField]: true } } };
  if (form === undefined) return approval;
  const parsed = await form.validate(Object.fromEntries(given));
  return parsed.issues === undefined && isObject(parsed.value) ? { ...approval, fields: parsed.value } : undefined;
}

function notApproved({ message }: ApprovalPrompt): Denial {
  return { code: 'authorization_denied', reason: 'The user has not approved this', prompt: message };
}

function cannotBeAsked({ message }: ApprovalPrompt): Denial {
  return {
    code: 'authorization_required',
    reason: 'The user would have to approve this, and this client cannot ask',
    prompt: message,
  };
}
