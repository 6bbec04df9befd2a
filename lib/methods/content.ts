/** Content blocks: what an author returned, as a client of the call's revision can take it. */
import { isObject } from '../protocol/json-rpc';
import type { Revision } from '../protocol/revisions';
import type { ContentBlock, ResourceLink } from '../protocol/types';

const kinds = new Set(['text', 'image', 'audio', 'resource', 'resource_link']);

/** Is it a list of content blocks? */
export function isContent(value: unknown): value is ContentBlock[] {
  return Array.isArray(value) && value.every((block) => isObject(block) && kinds.has(block.type as string));
}

/** The blocks, with kinds that came after `revision` as text; the same array where there are none. */
export function contentFor(blocks: ContentBlock[], { contentKinds }: Revision): ContentBlock[] {
  if (blocks.every(({ type }) => contentKinds.has(type))) return blocks;
  return blocks.map((block) => (contentKinds.has(block.type) ? block : { type: 'text', text: describe(block) }));
}

function describe(block: ContentBlock): string {
  return block.type === 'resource_link'
    ? describeLink(block)
    : `[${block.type} content, ${'mimeType' in block ? block.mimeType : 'unknown type'}]`;
}

function describeLink({ uri, name, title, description }: ResourceLink): string {
  return `${title ?? name}: ${uri}${description === undefined ? '' : ` (${description})`}`;
}
