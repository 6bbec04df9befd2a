/** Validates what the server sends against the official JSON schema of a revision. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import type { AnySchema, ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020';

export const legacyRevisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const;
export const latestLegacy = '2025-11-25';
export const modernRevision = '2026-07-28';
export const revisions = [...legacyRevisions, modernRevision] as const;
export type Revision = (typeof revisions)[number];

type Definition = { properties?: Record<string, { const?: unknown }>; anyOf?: { $ref: string }[]; required?: string[] };

export interface ExpectOptions {
  /** Method of the request that a result answers, or how to find it by the response's id. */
  request?: string | ((id: unknown) => string | undefined);
}

/** The definition of a method's result; what is missing here is an empty result. */
const resultNames: Record<string, string> = {
  initialize: 'InitializeResult',
  'server/discover': 'DiscoverResult',
  'tools/list': 'ListToolsResult',
  'tools/call': 'CallToolResult',
  'resources/list': 'ListResourcesResult',
  'resources/templates/list': 'ListResourceTemplatesResult',
  'resources/read': 'ReadResourceResult',
  'prompts/list': 'ListPromptsResult',
  'prompts/get': 'GetPromptResult',
  'completion/complete': 'CompleteResult',
  'subscriptions/listen': 'SubscriptionsListenResult',
  ping: 'EmptyResult',
  'logging/setLevel': 'EmptyResult',
  'resources/subscribe': 'EmptyResult',
  'resources/unsubscribe': 'EmptyResult',
};

/** Errors that have a type of their own. */
const errorNames: Record<number, string> = {
  [-32020]: 'HeaderMismatchError',
  [-32021]: 'MissingRequiredClientCapabilityError',
  [-32022]: 'UnsupportedProtocolVersionError',
  [-32042]: 'URLElicitationRequiredError',
};

const standardCodes = [-32700, -32600, -32601, -32602, -32603];

/** The codes of the reserved range that a revision may send. */
function reservedCodes(revision: Revision): number[] {
  if (revision === modernRevision) return [...standardCodes, -32020, -32021, -32022];
  return revision === latestLegacy ? [...standardCodes, -32002, -32042] : [...standardCodes, -32002];
}

interface RevisionSchema {
  definitions: Record<string, Definition>;
  check(definition: string, message: unknown): void;
}

const loaded = new Map<Revision, RevisionSchema>();

function schemaOf(revision: Revision): RevisionSchema {
  const known = loaded.get(revision);
  if (known !== undefined) return known;
  const text = readFileSync(join(__dirname, '..', 'mcp-schema', `${revision}.json`), 'utf8');
  const schema = JSON.parse(text) as { $schema: string } & Record<string, Record<string, Definition>>;
  const key = schema.$defs === undefined ? 'definitions' : '$defs';
  const ajv = schema.$schema.includes('2020-12') ? new Ajv2020(ajvOptions) : new Ajv(ajvOptions);
  ajv.addFormat('uri', (value) => URL.canParse(value));
  ajv.addFormat('uri-template', true);
  ajv.addFormat('byte', /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/);
  ajv.addSchema(schema as AnySchema, revision);
  const compiled = new Map<string, ValidateFunction>();
  const definitions = schema[key] ?? {};
  const made: RevisionSchema = {
    definitions,
    check(definition, message) {
      if (!(definition in definitions)) throw new Error(`${revision} has no ${definition}: ${show(message)}`);
      let validate = compiled.get(definition);
      if (validate === undefined) {
        validate = ajv.compile({ $ref: `${revision}#/${key}/${definition}` });
        compiled.set(definition, validate);
      }
      if (validate(message)) return;
      const faults = ajv.errorsText(validate.errors, { dataVar: 'message', separator: '\n  ' });
      throw new Error(`Not a ${definition} of ${revision}:\n  ${faults}\n${show(message)}`);
    },
  };
  loaded.set(revision, made);
  return made;
}

const ajvOptions = { strict: false, allErrors: true };

function show(message: unknown): string {
  const text = JSON.stringify(message) ?? String(message);
  return text.length > 2_000 ? `${text.slice(0, 2_000)}… (${text.length} characters)` : text;
}

/** Throw, in words, unless `message` (or each message of an array) may be sent by a server that speaks `revision`. */
export function expectValidMessage(revision: Revision, message: unknown, options: ExpectOptions = {}): void {
  if (Array.isArray(message)) {
    if (message.length === 0) throw new Error('An empty batch is no answer');
    for (const element of message) expectValidMessage(revision, element, options);
    return;
  }
  if (typeof message !== 'object' || message === null) throw new Error(`Not a message: ${show(message)}`);
  if ('method' in message) return expectServerMessage(revision, message as { method: unknown });
  const both = 'result' in message && 'error' in message;
  if (both) throw new Error(`Neither a result nor an error: ${show(message)}`);
  if ('error' in message) return expectError(revision, message as ErrorMessage);
  return expectResult(revision, message as ResultMessage, options);
}

type ErrorMessage = { id?: unknown; error: { code: number } };
type ResultMessage = { id?: unknown; result?: { resultType?: unknown } };

/** A request or a notification that the server sends on its own. */
function expectServerMessage(revision: Revision, message: { method: unknown }): void {
  const { definitions, check } = schemaOf(revision);
  const isRequest = 'id' in message;
  check(isRequest ? 'JSONRPCRequest' : 'JSONRPCNotification', message);
  const union = definitions[isRequest ? 'ServerRequest' : 'ServerNotification'];
  const names = (union?.anyOf ?? []).map(({ $ref }) => $ref.slice($ref.lastIndexOf('/') + 1));
  const name = names.find((candidate) => definitions[candidate]?.properties?.method?.const === message.method);
  if (name === undefined) throw new Error(`A server of ${revision} does not send this: ${show(message)}`);
  check(name, message);
}

function expectError(revision: Revision, message: ErrorMessage): void {
  const { definitions, check } = schemaOf(revision);
  const envelope = 'JSONRPCErrorResponse' in definitions ? 'JSONRPCErrorResponse' : 'JSONRPCError';
  // Older schemas demand an id; the transport lets an error body go without one where it could not be read.
  const demandsId = definitions[envelope]?.required?.includes('id') ?? false;
  check(envelope, demandsId && !('id' in message) ? { ...message, id: 0 } : message);
  const { code } = message.error;
  if (code >= -32768 && code <= -32000 && !reservedCodes(revision).includes(code)) {
    throw new Error(`${code} is reserved and not an error code of ${revision}: ${show(message)}`);
  }
  const name = errorNames[code];
  if (name !== undefined) check(name, message);
}

function expectResult(revision: Revision, message: ResultMessage, { request }: ExpectOptions): void {
  const { definitions, check } = schemaOf(revision);
  check('JSONRPCResultResponse' in definitions ? 'JSONRPCResultResponse' : 'JSONRPCResponse', message);
  if (revision === modernRevision && message.result?.resultType === 'input_required') {
    return check('InputRequiredResult', message.result);
  }
  if (revision === modernRevision && message.result?.resultType !== 'complete') {
    throw new Error(`A resultType that no specification defines: ${show(message)}`);
  }
  const method = typeof request === 'function' ? request(message.id) : request;
  if (method === undefined) return;
  check(resultNames[method] ?? 'EmptyResult', message.result);
}
