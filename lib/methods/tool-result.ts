/** From what a handler returned to the result that travels. */
import type { ToolEntry } from '../registry';
import { isObject } from '../protocol/json-rpc';
import type { Revision } from '../protocol/revisions';
import { describeIssues } from '../protocol/schema';
import type { CallToolResult, ContentBlock } from '../protocol/types';
import { contentFor, isContent } from '../protocol/content';
import { authored } from './settle';

/** A failure, for the model to read. */
export function toolError(message: string): CallToolResult {
  return { content: [{ type: 'text', text: message }], isError: true };
}

/**
 * The result of `tool`, as a client of `revision` can take it. A value where no schema has to be waited for.
 *
 * @throws {TypeError} naming the tool, if the handler returned none of what it may, or not what `outputSchema` says.
 */
export function toCallToolResult(
  tool: ToolEntry,
  value: unknown,
  revision: Revision,
): CallToolResult | Promise<CallToolResult> {
  return tool.output === undefined ? plainResult(tool, value, revision) : structuredResult(tool, value, revision);
}

function plainResult(tool: ToolEntry, value: unknown, revision: Revision): CallToolResult {
  if (typeof value === 'string') return { content: [{ type: 'text', text: value }] };
  if (value === undefined) return { content: [] };
  if (isContent(value)) return { content: contentFor(value, revision) };
  if (isObject(value)) return fullResult(tool, value, revision);
  throw new TypeError(
    `tool "${tool.name}" returned ${describe(value)}; return a string, content blocks, a CallToolResult, or declare an outputSchema`,
  );
}

/** With an `outputSchema`, what is not marked as a full result is the structured value itself. */
async function structuredResult(tool: ToolEntry, value: unknown, revision: Revision): Promise<CallToolResult> {
  if (isObject(value) && value.isError === true && isContent(value.content)) {
    // server/tools, "Output Schema": what does not conform is not sent; the failure's text is.
    const { structuredContent: _, ...failure } = value;
    return fullResult(tool, failure, revision);
  }
  const given = isObject(value) && 'structuredContent' in value ? value : { structuredContent: value };
  const structuredContent = await validated(tool, given.structuredContent);
  return fullResult(tool, { ...given, structuredContent }, revision);
}

async function validated(tool: ToolEntry, value: unknown): Promise<unknown> {
  const result = await tool.output!.validate(value);
  if (result.issues === undefined) return result.value;
  throw new TypeError(
    `tool "${tool.name}" returned what its outputSchema does not allow: ${describeIssues(result.issues)}`,
  );
}

function fullResult(tool: ToolEntry, value: Record<string, unknown>, revision: Revision): CallToolResult {
  const { structuredContent, content, ...rest } = authored(value);
  const structured = 'structuredContent' in value ? structuredFor(structuredContent, revision) : undefined;
  if (isContent(content)) return { ...rest, content: contentFor(content, revision), ...structured };
  if (content === undefined && structuredContent !== undefined)
    return { ...rest, content: [text(JSON.stringify(structuredContent))], ...structured };
  const cure = 'type' in value ? 'put a single block in an array' : 'to return a value, declare an outputSchema';
  throw new TypeError(
    `tool "${tool.name}" returned an object that is no CallToolResult: its content must be an array of content blocks; ${cure}`,
  );
}

function structuredFor(
  value: unknown,
  { structuredContent }: Revision,
): { structuredContent: unknown } | { structuredContent?: never } {
  const fits = structuredContent === 'any' || (structuredContent === 'objects' && isObject(value));
  return fits ? { structuredContent: value } : {};
}

function text(value: string): ContentBlock {
  return { type: 'text', text: value };
}

function describe(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'an array that is not content blocks' : `a ${typeof value}`;
}
