/** What a caller may use a uri for, and what those learn who may not know of it. */
import { approve } from '../authorizer/approve';
import { askInVain, authorizeRead, isReadShown } from '../authorizer/authorize';
import type { ApprovalPrompt, ReadQuestion } from '../authorizer/decisions';
import { denialError, denialOf } from '../authorizer/denial';
import type { Denial } from '../authorizer/denial';
import { checkRounds } from '../authorizer/rounds';
import type { CallContext } from '../call-context';
import type { ServerCore } from '../core';
import { ErrorCode, McpError } from '../protocol/errors';
import type { InputRequiredResult } from '../protocol/types';
import type { ResourceEntry, TemplateEntry } from '../registry';
import { refused } from './refused';

/** What a uri names. */
type Found =
  | { readonly entry: ResourceEntry; readonly variables: Record<string, string> }
  | { readonly entry: TemplateEntry; readonly variables: Record<string, string> | 'malformed' };

function find(core: ServerCore, uri: string): Found | undefined {
  const entry = core.registry.resources.get(uri);
  if (entry !== undefined) return { entry, variables: {} };
  for (const template of core.registry.templates.values()) {
    const variables = template.template.match(uri);
    if (variables !== undefined) return { entry: template, variables };
  }
  return undefined;
}

export function listQuestion({
  name,
  definition,
}: ResourceEntry | TemplateEntry): ReadQuestion & { operation: 'list' } {
  return 'uri' in definition
    ? { operation: 'list', kind: 'resource', name, definition, uri: definition.uri }
    : { operation: 'list', kind: 'resourceTemplate', name, definition };
}

/** The same answer for what does not exist and what is hidden. @param asked How often the hook was asked. */
async function notFound(core: ServerCore, uri: string, context: CallContext, asked: number): Promise<McpError> {
  const { resources, templates } = core.registry;
  const [other = [...templates.values()][0]] = resources.values();
  await askInVain(core.readAuthorizer, asked, other && (() => isReadShown(core, listQuestion(other), context)));
  return new McpError(context.requestMeta.revision.resourceNotFound, `Resource not found: ${uri.slice(0, 256)}`, {
    uri,
  });
}

/** What this caller may use `uri` for. @throws {McpError} as if it did not exist, where the caller may not know of it. */
export async function permitted(
  core: ServerCore,
  uri: string,
  operation: 'resources/read' | 'resources/subscribe',
  context: CallContext,
): Promise<{ entry: ResourceEntry | TemplateEntry; variables: Record<string, string>; ask?: InputRequiredResult }> {
  const found = find(core, uri);
  if (found === undefined) throw await notFound(core, uri, context, 0);
  const { entry, variables } = found;
  /** What the caller gets who may know of the entry; the others hear that there is none. */
  const refuse = async (asked: number, refusal: () => unknown, fault?: unknown): Promise<never> => {
    const isShown = isReadShown(core, listQuestion(entry), context);
    throw await refused(context, isShown, refusal, () => notFound(core, uri, context, asked + 1), fault);
  };
  if (variables === 'malformed')
    return refuse(
      0,
      () => new McpError(ErrorCode.InvalidParams, 'Invalid params: uri has malformed percent-encoding', { uri }),
    );
  try {
    if (context.target !== undefined) checkRounds(context);
  } catch (error) {
    return refuse(0, () => error, error);
  }
  const { name, definition } = entry;
  const decision = await authorizeRead(
    core,
    { operation: 'call', kind: 'resource', method: operation, name, definition, uri, arguments: variables },
    context,
  );
  if (decision.decision === 'deny') return refuse(1, () => denialError(denialOf(decision, context)));
  if (decision.decision === 'elicit') {
    const outcome =
      context.era === 'modern' && operation === 'resources/subscribe'
        ? cannotAsk(decision.prompt)
        : await approve(decision.prompt, context);
    if (outcome === 'asked') return { entry, variables, ask: await context.rounds!.inputRequired(context) };
    if (outcome !== 'approved') return refuse(1, () => denialError(outcome));
  }
  return { entry, variables };
}

/** basic/patterns/mrtr, "Supported Requests": `subscriptions/listen` is none that could be answered with a question. */
function cannotAsk({ message }: ApprovalPrompt): Denial {
  return {
    code: 'authorization_required',
    reason: 'This needs approval, and a subscription cannot ask for it',
    prompt: message,
  };
}

/** May this caller hear that `uri` has changed? */
export async function maySubscribe(core: ServerCore, uri: string, context: CallContext): Promise<boolean> {
  try {
    await permitted(core, uri, 'resources/subscribe', context);
    return true;
  } catch (error) {
    if (!(error instanceof McpError)) throw error;
    // Not heard of, rather than refused: nothing is demanded of the caller.
    context.challenge = undefined;
    return false;
  }
}
