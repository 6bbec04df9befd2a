/** Tool parameters that clients mirror into `Mcp-Param-*` headers (`x-mcp-header`): found in a schema, compared with a call. */
import { decodeHeaderValue } from './header-value';
import type { JsonSchema } from './types';

/** A parameter that travels in a header as well. */
export interface MirroredParam {
  /** The header in lower case, "mcp-param-region". */
  readonly header: string;
  /** Property names from the arguments to the value. */
  readonly path: readonly string[];
  readonly type: 'string' | 'integer' | 'boolean';
}

const annotation = 'x-mcp-header';
/** RFC 9110, 5.6.2: what a field name is made of. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Keywords that hold instances: an equal key in them is data. */
const instanceKeywords = new Set(['const', 'default', 'enum', 'examples']);
/** Keywords that map names to schemas: an equal key in them is a name. */
const namedSchemas = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  'dependencies',
  '$defs',
  'definitions',
]);

/**
 * Find the parameters of `inputSchema` that are marked with `x-mcp-header`. Besides the three primitive types a nullable
 * one (`["string", "null"]`) passes, because the text says what a null does; note that the official TypeScript client
 * hides a tool with such a list, so an optional parameter serves better.
 *
 * @throws {TypeError} naming path and rule, if an annotation breaks one: a token, unique in any case, on a string, integer
 *   or boolean, reached from the root by `properties` alone.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#schema-extension
 */
export function mirroredParams(inputSchema: JsonSchema): MirroredParam[] {
  const params = new Map<string, MirroredParam>();
  visit(inputSchema, []);
  return [...params.values()];

  /** `path` is undefined where no chain of `properties` leads. */
  function visit(schema: unknown, path: readonly string[] | undefined, location = 'inputSchema'): void {
    if (typeof schema !== 'object' || schema === null) return;
    if (Array.isArray(schema)) {
      schema.forEach((item, index) => visit(item, undefined, `${location}/${index}`));
      return;
    }
    for (const [keyword, value] of Object.entries(schema)) {
      if (value === undefined || instanceKeywords.has(keyword)) continue;
      if (keyword === annotation) {
        const param = toMirroredParam(schema as JsonSchema, path, location);
        if (params.has(param.header))
          throw misuse(location, `${JSON.stringify(value)} is used twice (case is ignored)`);
        params.set(param.header, param);
      } else if (namedSchemas.has(keyword)) {
        for (const [name, child] of Object.entries(Object(value) as object)) {
          const chain = keyword === 'properties' && path ? [...path, name] : undefined;
          visit(child, chain, `${location}/${keyword}/${name}`);
        }
      } else {
        visit(value, undefined, `${location}/${keyword}`);
      }
    }
  }
}

/**
 * Say how `headers` and the raw `args` of a call differ, for the first parameter that does; undefined when none does. The
 * text names header and argument, not their values.
 *
 * @param headers as Node gives them; with `req.headersDistinct`, identical lines of one header count as one. (In
 *   `req.headers` they are already joined, and so differ from the argument.)
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-behavior-for-custom-headers
 */
export function mirrorMismatch(
  params: readonly MirroredParam[],
  args: Record<string, unknown>,
  headers: NodeJS.Dict<string | string[]>,
): string | undefined {
  for (const param of params) {
    const fault = faultOf(param, valueAt(args, param.path), headers[param.header]);
    if (fault !== undefined) return `Header ${param.header}, argument ${param.path.join('.')}: ${fault}`;
  }
  return undefined;
}

function toMirroredParam(schema: JsonSchema, path: readonly string[] | undefined, location: string): MirroredParam {
  if (path === undefined || path.length === 0) {
    throw misuse(location, 'must be on a property that "properties" keywords alone lead to from the root');
  }
  const name = schema[annotation];
  if (typeof name !== 'string' || !token.test(name)) {
    throw misuse(location, `must be a header name's token, got ${JSON.stringify(name)}`);
  }
  const types = [schema.type].flat().filter((type) => type !== 'null');
  const [type] = types;
  if (types.length !== 1 || (type !== 'string' && type !== 'integer' && type !== 'boolean')) {
    const got = schema.type === undefined ? 'none' : JSON.stringify(schema.type);
    throw misuse(location, `needs the type "string", "integer" or "boolean", got ${got}`);
  }
  return { header: `mcp-param-${name.toLowerCase()}`, path, type };
}

function misuse(location: string, rule: string): TypeError {
  return new TypeError(`${location}: "${annotation}" ${rule}`);
}

function faultOf(param: MirroredParam, value: unknown, lines: string | string[] | undefined): string | undefined {
  // "Server MUST NOT expect the header", and a client MUST omit it: one that is there all the same claims a value that the
  // body does not have, and an intermediary would have acted on it.
  if (value === undefined || value === null) return lines === undefined ? undefined : 'the header has no argument';
  if (lines === undefined) return 'the header is missing';
  const [line, ...others] = [lines].flat();
  if (line === undefined || others.some((other) => other !== line)) return 'the header has more than one value';
  const text = decodeHeaderValue(line);
  if (text === undefined) return 'the header contains invalid characters or invalid Base64';
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return 'the integer is outside the safe range';
  return equals(param, value, text) ? undefined : 'they differ';
}

/** Plain decimals without a fraction, and exponents of so few digits that `Number` does not round them to an integer. */
const integer = /^-?\d+(?:\.0+)?$|^-?\d(?:\.\d{1,15})?e\+?\d{1,2}$/i;

function equals(param: MirroredParam, value: unknown, text: string): boolean {
  // A value of another primitive type is compared by its own text: that its type is wrong, the tool's schema says better.
  if (typeof value !== 'string' && typeof value !== 'boolean' && typeof value !== 'number') return false;
  if (String(value) === text) return true;
  return param.type === 'integer' && typeof value === 'number' && integer.test(text) && Number(text) === value;
}

function valueAt(args: Record<string, unknown>, path: readonly string[]): unknown {
  let value: unknown = args;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, key))
      return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}
