/** A question to the client's model, as this client can take it. */
import type { CallContext } from '../call-context';
import { contentFor } from '../protocol/content';
import { ToolError } from '../protocol/errors';
import { isObject } from '../protocol/json-rpc';
import type { ClientFeature } from '../protocol/revisions';
import type { ContentBlock, CreateMessageRequestParams, SamplingContent, SamplingMessage } from '../protocol/types';

/** What the client must be able to do for it. */
export function samplingFeature({ messages, tools, toolChoice }: CreateMessageRequestParams): ClientFeature {
  const usesTools = tools !== undefined || toolChoice !== undefined || messages.some(holdsTools);
  return usesTools ? 'sampling.tools' : 'sampling';
}

function holdsTools({ content }: SamplingMessage): boolean {
  return [content].flat().some(({ type }) => type === 'tool_use' || type === 'tool_result');
}

/** @throws {ToolError} for a message of several pieces, where the client's revision has no such thing. */
export function samplingFor(
  { includeContext, ...params }: CreateMessageRequestParams,
  { requestMeta: { revision, clientCapabilities } }: CallContext,
): CreateMessageRequestParams {
  // Tools, several pieces in a message, and the capability to include context came together.
  if (!revision.clientFeatures.has('sampling.tools')) {
    const messages = params.messages.map((message) => ({
      role: message.role,
      content: contentFor([onePiece(message) as ContentBlock], revision)[0] as SamplingContent, // text stands for the rest
    }));
    return { ...params, messages, ...(includeContext === undefined ? undefined : { includeContext }) };
  }
  // 2025-11-25, client/sampling: SHOULD only be used where the client declares it.
  const { sampling } = clientCapabilities;
  const mayInclude = isObject(sampling) && isObject(sampling.context);
  return mayInclude && includeContext !== undefined ? { ...params, includeContext } : params;
}

function onePiece({ content }: SamplingMessage): SamplingContent {
  const [piece, ...others] = [content].flat();
  if (piece === undefined || others.length > 0)
    throw new ToolError('This needs a client that takes messages of several pieces (2025-11-25 or later)');
  return piece;
}
