/** Carries out an authorizer's `elicit`: asks the human, in the way of the call's era, and runs nothing without a yes. */
import { createHash } from 'node:crypto';
import type { CallContext } from '../context';
import { isObject } from '../protocol/json-rpc';
import { parseElicitResult } from '../protocol/params';
import { canonicalJson } from '../protocol/canonical-json';
import type { InputRequest } from '../protocol/types';
import { canAsk } from './ask';
import type { ApprovalPrompt } from './decisions';
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
  const question = approvalQuestion(prompt, context);
  if (!canAsk(context, 'elicitation.form')) return cannotBeAsked(prompt);
  return context.era === 'legacy' ? approveLegacy(prompt, question, context) : approveModern(prompt, question, context);
}

interface Question {
  readonly request: InputRequest;
  readonly form: Form | undefined;
}

function approvalQuestion({ message, fields }: ApprovalPrompt, context: CallContext): Question {
  const { revision } = context.requestMeta;
  // A client without forms is never sent one; the newest way of writing them serves to check the fields all the same.
  const form =
    fields === undefined || revision.forms === 'none' ? undefined : createForm(fields, revision, 'elicit(prompt)');
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
  const given = await readApproval(answer, form);
  if (given === undefined) return notApproved(prompt);
  context.approval = given.fields;
  return 'approved';
}

async function approveModern(
  prompt: ApprovalPrompt,
  { request, form }: Question,
  context: CallContext,
): Promise<Outcome> {
  const rounds = roundsOf(context);
  const digest = createHash('sha256').update(canonicalJson(request)).digest('base64url');
  const sealed = rounds.redeemable?.prompt === digest ? rounds.redeemable : undefined;
  const answer = rounds.freshAnswer(approvalKey);
  if (sealed !== undefined && (sealed.given || answer !== undefined)) {
    const given = sealed.given ? { fields: sealed.fields } : await readApproval(answer, form);
    if (given === undefined) return notApproved(prompt);
    // Spent before the handler starts. Spent already, or no room to remember: asked anew below.
    if (await context.core.spent.spend(sealed.nonce, sealed.expiresAt)) {
      context.approval = given.fields;
      rounds.approval = { nonce: createNonce(), prompt: digest, given: true, fields: given.fields };
      return 'approved';
    }
  }
  rounds.approval = { nonce: createNonce(), prompt: digest, given: false };
  rounds.asked.set(approvalKey, request);
  return 'asked';
}

/** The answers to the fields, if the answer is an explicit yes with fields that fit. */
async function readApproval(
  answer: unknown,
  form: Form | undefined,
): Promise<{ fields?: Record<string, unknown> } | undefined> {
  let result;
  try {
    result = parseElicitResult(answer);
  } catch {
    // Not an answer to this question: not a yes.
    return undefined;
  }
  if (result.action !== 'accept' || result.content?.[approveField] !== true) return undefined;
  if (form === undefined) return {};
  const { [approveField]: _, ...fields } = result.content;
  const parsed = await form.validate(fields);
  return parsed.issues === undefined && isObject(parsed.value) ? { fields: parsed.value } : undefined;
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
