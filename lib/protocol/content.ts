/** Content blocks: what an author returned, as a client of the call's revision can take it. */
import { isObject } from './json-rpc';
import type { Revision } from './revisions';
import type { ContentBlock, ResourceContents, ResourceLink } from './types';

/** Is it a list of content blocks? */
export function isContent(value: unknown): value is ContentBlock[] {
  return Array.isArray(value) && value.every((block) => isObject(block) && isBlock(block));
}

function isBlock({ type, text, data, mimeType, uri, name, resource }: Record<string, unknown>): boolean {
  switch (type) {
    case 'text':
      return typeof text === 'string';
    case 'image':
    case 'audio':
      return typeof data === 'string' && typeof mimeType === 'string';
    case 'resource_link':
      return typeof uri === 'string' && typeof name === 'string';
    case 'resource':
      return isContents(resource);
    default:
      return false;
  }
}

/** Is it what a resource holds: text or bytes, under a uri? */
export function isContents(value: unknown): value is ResourceContents {
  return (
    isObject(value) &&
    typeof value.uri === 'string' &&
    (typeof value.text === 'string' || typeof value.blob === 'string')
  );
}

/** The blocks as a client of `revision` knows them: kinds that came later as text, without fields that did. */
export function contentFor(blocks: ContentBlock[], { contentKinds, laterContentFields }: Revision): ContentBlock[] {
  if (laterContentFields.size === 0 && blocks.every(({ type }) => contentKinds.has(type))) return blocks;
  return blocks.map((block) => {
    if (!contentKinds.has(block.type)) return { type: 'text', text: describe(block) };
    const known = withoutLater(block, laterContentFields);
    return known.type === 'resource' ? { ...known, resource: withoutLater(known.resource, laterContentFields) } : known;
  });
}

/** A resource's contents as a client of `revision` knows them. */
export function contentsFor(contents: ResourceContents[], { laterContentFields }: Revision): ResourceContents[] {
  return contents.map((one) => withoutLater(one, laterContentFields));
}

/** The same object where it has none of the fields. */
function withoutLater<T extends object>(value: T, later: ReadonlySet<string>): T {
  const entries = Object.entries(value);
  return entries.some(([field]) => later.has(field))
    ? (Object.fromEntries(entries.filter(([field]) => !later.has(field))) as T)
    : value;
}

function describe(block: ContentBlock): string {
  return block.type === 'resource_link'
    ? describeLink(block)
    : `[${block.type} content, ${'mimeType' in block ? block.mimeType : 'unknown type'}]`;
}

function describeLink({ uri, name, title, description }: ResourceLink): string {
  return `${title ?? name}: ${uri}${description === undefined ? '' : ` (${description})`}`;
}
