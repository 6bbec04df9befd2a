/** A form: an author's schema as the flat fields that an elicitation may ask for. */
import { isObject } from '../protocol/json-rpc';
import type { Revision } from '../protocol/revisions';
import { compileArgumentsSchema } from '../protocol/schema';
import type { CompiledSchema, Schema } from '../protocol/schema';
import type { ElicitRequestFormParams, JsonSchema } from '../protocol/types';

/** A form made ready. */
export interface Form {
  readonly requestedSchema: ElicitRequestFormParams['requestedSchema'];
  readonly validate: CompiledSchema['validate'];
}

/** Keywords a field may have, by its type. */
const keywords: Record<string, readonly string[]> = {
  string: ['minLength', 'maxLength', 'format', 'enum', 'enumNames', 'oneOf', 'default'],
  number: ['minimum', 'maximum', 'default'],
  integer: ['minimum', 'maximum', 'default'],
  boolean: ['default'],
  array: ['minItems', 'maxItems', 'items', 'default'],
};
const everywhere = ['type', 'title', 'description'];
const formats = ['email', 'uri', 'date', 'date-time'];

/** Forms made ready, kept as long as the author's schema objects. */
const forms = new WeakMap<object, Form>();

/**
 * Make a form of `schema`, as clients of `revision` understand it.
 *
 * @throws {TypeError} naming the field that no form can ask for.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#requested-schema
 */
export function createForm(schema: Schema, revision: Revision, owner: string): Form {
  let form = forms.get(schema);
  if (form === undefined) {
    const { json, validate } = compileArgumentsSchema(schema, owner);
    const fields = Object.entries(isObject(json.properties) ? json.properties : {});
    const properties = Object.fromEntries(
      fields.map(([name, field]) => [name, flatField(field, `${owner}, field "${name}"`)]),
    );
    const required = Array.isArray(json.required) ? { required: json.required as string[] } : undefined;
    form = { requestedSchema: { type: 'object', properties, ...required }, validate };
    forms.set(schema, form);
  }
  return revision.forms === 'full' ? form : { ...form, requestedSchema: basicForm(form.requestedSchema, owner) };
}

function flatField(field: unknown, where: string): JsonSchema {
  if (!isObject(field) || typeof field.type !== 'string' || !(field.type in keywords)) {
    throw new TypeError(
      `${where}: a form asks for strings, numbers, booleans and choices only, not for ${JSON.stringify(isObject(field) ? (field.type ?? Object.keys(field)[0]) : field)}`,
    );
  }
  const known = keywords[field.type]!;
  const kept: JsonSchema = {};
  for (const [keyword, value] of Object.entries(field)) {
    // Libraries repeat a format as a pattern; the format says it.
    if (keyword === 'pattern' && formats.includes(field.format as string)) continue;
    if (!everywhere.includes(keyword) && !known.includes(keyword))
      throw new TypeError(`${where}: a form cannot express "${keyword}"`);
    if (keyword === 'format' && !formats.includes(value as string))
      throw new TypeError(`${where}: a form has no format ${JSON.stringify(value)}, only ${formats.join(', ')}`);
    kept[keyword] = value;
  }
  if (field.type === 'array' && !isChoice(field.items))
    throw new TypeError(`${where}: a list in a form is a choice: items need "enum" or "anyOf" of const and title`);
  return kept;
}

function isChoice(items: unknown): boolean {
  return (
    isObject(items) &&
    (Array.isArray(items.enum) ||
      (Array.isArray(items.anyOf) && items.anyOf.every((one) => isObject(one) && 'const' in one && 'title' in one)))
  );
}

/** 2025-06-18: single choices with `enumNames`, defaults for booleans only. */
function basicForm(full: Form['requestedSchema'], owner: string): Form['requestedSchema'] {
  const properties = Object.entries(full.properties).map(([name, field]) => {
    if (field.type === 'array')
      throw new TypeError(`${owner}, field "${name}": this client's revision has no choice of several`);
    const { oneOf, default: preset, ...rest } = field;
    const choices = Array.isArray(oneOf)
      ? { enum: oneOf.map((one) => one.const), enumNames: oneOf.map((one) => one.title) }
      : undefined;
    return [
      name,
      { ...rest, ...choices, ...(field.type === 'boolean' && preset !== undefined ? { default: preset } : undefined) },
    ] as const;
  });
  return { ...full, properties: Object.fromEntries(properties) };
}
