/** An author's schema, made ready once: its JSON Schema for the wire, and a validator for each call. */
import type Ajv from 'ajv';
import type { ValidateFunction } from 'ajv';
import { isObject } from './json-rpc';
import type { StandardIssue, StandardResult, StandardSchema } from './standard-schema';
import type { JsonSchema } from './types';

/** A Standard Schema that gives its JSON Schema (zod from 4.2), or a plain JSON Schema object. */
export type Schema<Input = unknown, Output = Input> = StandardSchema<Input, Output> | JsonSchema;

/** A schema made ready. */
export interface CompiledSchema {
  readonly json: JsonSchema;
  /** The parsed value, or what is wrong with it. A value where the schema is synchronous. */
  readonly validate: (value: unknown) => StandardResult<unknown> | Promise<StandardResult<unknown>>;
}

/** Which face of the schema travels: what the caller may send, or what the schema makes of it. */
export type SchemaSide = 'input' | 'output';

/** At most this many problems are named in one answer. */
const maxIssuesNamed = 20;

/**
 * Make `schema` ready.
 *
 * @param owner Names the tool or prompt in errors.
 * @throws {TypeError} if it cannot be expressed as JSON Schema, naming owner, path and fix.
 */
export function compileSchema(schema: Schema, side: SchemaSide, owner: string): CompiledSchema {
  if (isStandardSchema(schema)) return compileStandardSchema(schema, side, owner);
  if (!isObject(schema)) throw new TypeError(`${owner}: a schema must be a Standard Schema or a JSON Schema object`);
  if (Object.values(schema).some(isStandardSchema)) {
    throw new TypeError(`${owner}: got the fields of a schema, not a schema; wrap them: z.object({ … })`);
  }
  return compileJsonSchema(schema, owner);
}

/**
 * Make a schema of arguments ready: its root is an object, whatever the library wrote.
 *
 * @throws {TypeError} as {@link compileSchema}, and if the schema describes something else than an object.
 */
export function compileArgumentsSchema(
  schema: Schema | undefined,
  owner: string,
): CompiledSchema & { json: { type: 'object' } } {
  const { json, validate } = compileSchema(schema === undefined ? noArguments : schema, 'input', owner);
  if (json.type !== undefined && json.type !== 'object') {
    throw new TypeError(`${owner}: arguments are an object, the schema's root is ${JSON.stringify(json.type)}`);
  }
  return { json: { ...json, type: 'object' }, validate };
}

const noArguments: JsonSchema = { type: 'object' };

function isStandardSchema(value: unknown): value is StandardSchema {
  return (typeof value === 'object' || typeof value === 'function') && value !== null && '~standard' in value;
}

function compileStandardSchema(schema: StandardSchema, side: SchemaSide, owner: string): CompiledSchema {
  const standard = schema['~standard'];
  if (standard.jsonSchema === undefined) {
    throw new TypeError(
      `${owner}: this ${standard.vendor} schema cannot give its JSON Schema; use zod 4.2 or later, ` +
        'wrap a valibot schema with toStandardJsonSchema() of @valibot/to-json-schema, or pass a JSON Schema object',
    );
  }
  const json = toJsonSchema(schema, side, owner);
  return { json, validate: (value) => standard.validate(value) };
}

function toJsonSchema(schema: StandardSchema, side: SchemaSide, owner: string): JsonSchema {
  try {
    const { $schema: _, ...json } = schema['~standard'].jsonSchema![side]({ target: 'draft-2020-12' });
    return json;
  } catch (error) {
    const path = findUnrepresentable(schema, side) ?? [];
    const where = path.length > 0 ? `, at "${path.join('.')}"` : '';
    throw new TypeError(`${owner}: the ${side} schema has no JSON Schema${where}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/** The path to the innermost field that cannot be expressed, where the library shows its fields (`shape`). */
function findUnrepresentable(schema: unknown, side: SchemaSide): string[] | undefined {
  if (!isStandardSchema(schema)) return undefined;
  try {
    schema['~standard'].jsonSchema?.[side]({ target: 'draft-2020-12' });
    return undefined;
  } catch {
    // The same failure as the one reported; here only its place is looked for.
    const fields = (schema as { shape?: unknown }).shape;
    for (const [name, field] of isObject(fields) ? Object.entries(fields) : []) {
      const path = findUnrepresentable(field, side);
      if (path !== undefined) return [name, ...path];
    }
    return [];
  }
}

/** One for each dialect, made when the first plain JSON Schema is registered: knows what a schema of it looks like. */
const dialectCheckers = new Map<string, Ajv>();

const dialects = new Map<unknown, string>([
  [undefined, '2020-12'],
  ['https://json-schema.org/draft/2020-12/schema', '2020-12'],
  ['http://json-schema.org/draft-07/schema', 'draft-07'],
]);

function compileJsonSchema(json: JsonSchema, owner: string): CompiledSchema {
  const named = json.$schema;
  const dialect = dialects.get(typeof named === 'string' ? named.replace(/#$/, '') : named);
  if (dialect === undefined) {
    throw new TypeError(
      `${owner}: $schema ${JSON.stringify(named)} is not supported; use 2020-12 (the default) or draft-07`,
    );
  }
  const check = compileDialect(json, dialect, owner);
  return {
    json,
    validate: (value) =>
      check(value)
        ? { value }
        : {
            issues: (check.errors ?? []).map(({ instancePath, message, params }) => ({
              message: describe(message, params),
              path: pointer(instancePath),
            })),
          },
  };
}

// No loadSchema: a remote $ref fails to compile.
const ajvOptions = { strict: false, allErrors: true, validateFormats: false, logger: false } as const;

function compileDialect(json: JsonSchema, dialect: string, owner: string): ValidateFunction {
  // Loaded on first use: most servers have no plain JSON Schema.
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  const { default: Validator } = require(dialect === '2020-12' ? 'ajv/dist/2020' : 'ajv') as { default: typeof Ajv };
  let checker = dialectCheckers.get(dialect);
  if (checker === undefined) dialectCheckers.set(dialect, (checker = new Validator(ajvOptions)));
  try {
    checker.validateSchema(json, true);
    // A validator of its own: one that is shared keeps every schema it has compiled, even one that was removed, and a
    // provider that makes new ones for each list would fill the memory.
    return new Validator({ ...ajvOptions, validateSchema: false }).compile(json);
  } catch (error) {
    throw new TypeError(`${owner}: not a valid JSON Schema: ${messageOf(error)}`, { cause: error });
  }
}

function describe(message = 'is invalid', params: Record<string, unknown>): string {
  if ('additionalProperty' in params) return `${message}: "${String(params.additionalProperty)}"`;
  if ('allowedValues' in params) return `${message}: ${JSON.stringify(params.allowedValues)}`;
  return message;
}

function pointer(instancePath: string): string[] {
  return instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** What is wrong, a line for each field, for a model to read. */
export function describeIssues(issues: readonly StandardIssue[]): string {
  const lines = issues.slice(0, maxIssuesNamed).map(({ message, path }) => {
    const where = (path ?? []).map((step) => String(typeof step === 'object' ? step.key : step)).join('.');
    return where === '' ? message : `${where}: ${message}`;
  });
  if (issues.length > maxIssuesNamed) lines.push(`… and ${issues.length - maxIssuesNamed} more`);
  return lines.join('\n');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
