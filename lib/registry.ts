/** What is declared: tools, resources, templates, prompts, a provider. Schemas are made ready here, once. */
import { checkPromptKeys, checkResourceKeys, checkToolKeys } from './declaration-keys';
import type {
  Completer,
  PromptConfig,
  PromptHandler,
  ProvidedTool,
  ResourceConfig,
  ResourceHandler,
  ToolConfig,
  ToolDefinition,
  ToolHandler,
  ToolProvider,
} from './declarations';
import { isObject } from './protocol/json-rpc';
import { mirroredParams } from './protocol/mirrored-params';
import type { MirroredParam } from './protocol/mirrored-params';
import { compileArgumentsSchema, compileSchema } from './protocol/schema';
import type { CompiledSchema, Schema } from './protocol/schema';
import type { Prompt, PromptArgument, Resource, ResourceTemplate } from './protocol/types';
import { parseUriTemplate } from './protocol/uri-template';
import type { UriTemplate } from './protocol/uri-template';
import { checkCacheHints, checkDuration } from './settings';

/** A tool made ready. */
export interface ToolEntry {
  readonly name: string;
  readonly definition: ToolDefinition;
  readonly input: CompiledSchema;
  readonly output: CompiledSchema | undefined;
  /** Arguments that travel in headers too (`x-mcp-header`). */
  readonly mirrored: readonly MirroredParam[];
  readonly stream: 'auto' | 'always';
  readonly timeoutMs: number | undefined;
  /** The author's code; the arguments have been parsed. */
  readonly handler: ToolHandler<undefined, never>;
}

/** A resource of one uri. */
export interface ResourceEntry {
  readonly name: string;
  readonly definition: Resource;
  readonly config: ResourceConfig;
  readonly handler: ResourceHandler;
}

/** A family of resources. */
export interface TemplateEntry {
  readonly name: string;
  readonly definition: ResourceTemplate;
  readonly template: UriTemplate;
  readonly config: ResourceConfig;
  readonly handler: ResourceHandler;
}

/** A prompt made ready. */
export interface PromptEntry {
  readonly name: string;
  readonly definition: Prompt;
  readonly input: CompiledSchema;
  readonly complete: Readonly<Record<string, Completer | undefined>>;
  readonly handler: PromptHandler;
}

/** Kinds of lists, as their `list_changed` notices name them. */
export type ListKind = 'tools' | 'resources' | 'prompts';

/** Everything declared on one server. Lists keep the order of registration. */
export class Registry {
  readonly tools = new Map<string, ToolEntry>();
  readonly resources = new Map<string, ResourceEntry>();
  readonly templates = new Map<string, TemplateEntry>();
  readonly prompts = new Map<string, PromptEntry>();
  provider: ToolProvider | undefined;
  /** What has ever been declared; a capability once advertised stays. */
  readonly declared = new Set<ListKind | 'completions'>();
  /** Grows with each change of a kind's list: what was encoded from an older one is stale. */
  readonly versions: Record<ListKind, number> = { tools: 0, resources: 0, prompts: 0 };
  readonly #onChange: (kind: ListKind) => void;

  /** @param onChange Called after each change of a list. */
  constructor(onChange: (kind: ListKind) => void) {
    this.#onChange = onChange;
  }

  /** Say that a list is not what it was. */
  changed(kind: ListKind): void {
    this.declared.add(kind);
    this.versions[kind] += 1;
    this.#onChange(kind);
  }
}

// server/tools, "Tool Names".
const toolName = /^[A-Za-z0-9_.-]{1,128}$/;

/** @throws {TypeError} if `name` is not one that every client accepts. */
export function checkName(kind: 'tool' | 'prompt' | 'resource', name: unknown): asserts name is string {
  if (typeof name === 'string' && (kind === 'tool' ? toolName.test(name) : name !== '')) return;
  const rule = kind === 'tool' ? '1 to 128 of A-Z, a-z, 0-9, "_", "." and "-"' : 'a string that is not empty';
  throw new TypeError(`${kind} name ${JSON.stringify(name)}: must be ${rule}`);
}

/**
 * Make a tool ready.
 *
 * @throws {TypeError} for a setting that does not exist, if a schema cannot be expressed, or mirrors an argument against the
 *   rules; naming tool and path.
 */
export function createToolEntry(name: string, config: ToolConfig, handler: ToolEntry['handler']): ToolEntry {
  const owner = `tool "${name}"`;
  checkToolKeys(owner, config);
  return makeToolEntry(name, config, handler);
}

function makeToolEntry(name: string, config: ToolConfig, handler: ToolEntry['handler']): ToolEntry {
  const owner = `tool "${name}"`;
  if (typeof handler !== 'function') throw new TypeError(`${owner}: the handler must be a function`);
  const {
    inputSchema,
    outputSchema,
    sensitive,
    stream = 'auto',
    timeoutMs,
    title,
    description,
    annotations,
    icons,
    _meta,
  } = config;
  if (stream !== 'auto' && stream !== 'always')
    throw new TypeError(`${owner}: stream must be 'auto' or 'always', got ${JSON.stringify(stream)}`);
  if (timeoutMs !== undefined) checkDuration(`${owner}: timeoutMs`, timeoutMs);
  const input = compileArgumentsSchema(inputSchema, owner);
  const output =
    outputSchema === undefined ? undefined : compileSchema(outputSchema, 'output', `${owner}, outputSchema`);
  const definition: ToolDefinition = {
    name,
    ...present({ title, description }),
    inputSchema: input.json,
    ...present({ outputSchema: output?.json, annotations, icons, _meta }),
    // One of the two is enough: `sensitive: false` does not take back what the annotation tells every client.
    sensitive: Boolean(sensitive || annotations?.destructiveHint),
  };
  return { name, definition, input, output, mirrored: mirroredOf(owner, input), stream, timeoutMs, handler };
}

function mirroredOf(owner: string, { json }: CompiledSchema): MirroredParam[] {
  try {
    return mirroredParams(json);
  } catch (error) {
    throw new TypeError(`${owner}: ${(error as Error).message}`, { cause: error });
  }
}

/** Provided tools made ready, kept as long as the provider gives the same objects. */
const provided = new WeakMap<ToolProvider, WeakMap<ProvidedTool, ToolEntry>>();

/** Make a provider's tool ready, once per object. @throws as {@link createToolEntry}. */
export function createProvidedEntry(tool: ProvidedTool, provider: ToolProvider): ToolEntry {
  let entries = provided.get(provider);
  if (entries === undefined) provided.set(provider, (entries = new WeakMap()));
  let entry = entries.get(tool);
  if (entry === undefined) {
    checkName('tool', tool.name);
    // It may be another server's, with what we do not know.
    entry = makeToolEntry(tool.name, tool, (args, context) => provider.callTool(tool.name, args, context) as never);
    entries.set(tool, entry);
  }
  return entry;
}

/** @throws {TypeError | RangeError} for what no resource can have, naming it. */
function checkResource(name: string, config: ResourceConfig, handler: unknown): void {
  const { cache } = config;
  checkResourceKeys(`resource "${name}"`, config);
  if (typeof handler !== 'function') throw new TypeError(`resource "${name}": the handler must be a function`);
  checkCacheHints(`resource "${name}": cache`, cache);
}

/** Make a resource of one uri ready. @throws {TypeError} if the uri is none, or the configuration a template's. */
export function createResourceEntry(
  name: string,
  uri: string,
  config: ResourceConfig,
  handler: ResourceHandler,
): ResourceEntry {
  checkResource(name, config, handler);
  if (!URL.canParse(uri)) throw new TypeError(`resource "${name}": ${JSON.stringify(uri)} is no absolute uri`);
  for (const field of ['complete', 'list'] as const) {
    if (config[field] !== undefined)
      throw new TypeError(`resource "${name}": ${field} belongs to a template, and ${uri} has no variables`);
  }
  const { title, description, mimeType, size, annotations, icons, _meta } = config;
  const definition = { uri, name, ...present({ title, description, mimeType, size, annotations, icons, _meta }) };
  return { name, definition, config, handler };
}

/** Make a template ready. @throws {TypeError} if it cannot be matched safely. */
export function createTemplateEntry(
  name: string,
  uriTemplate: string,
  config: ResourceConfig,
  handler: ResourceHandler,
): TemplateEntry {
  checkResource(name, config, handler);
  const { title, description, mimeType, annotations, icons, _meta } = config;
  const template = parseUriTemplate(uriTemplate);
  checkCompleters(`resource "${name}"`, config.complete, template.variableNames);
  const definition = { uriTemplate, name, ...present({ title, description, mimeType, annotations, icons, _meta }) };
  return { name, definition, template, config, handler };
}

/** @throws {TypeError} for a completer of something else than `names`, or none. */
function checkCompleters(owner: string, completers: object | undefined, names: readonly string[]): void {
  for (const [name, completer] of Object.entries(completers ?? {})) {
    if (!names.includes(name)) throw new TypeError(`${owner}: complete.${name}: there is no such argument`);
    if (completer !== undefined && typeof completer !== 'function')
      throw new TypeError(`${owner}: complete.${name} must be a function`);
  }
}

/** Make a prompt ready. @throws {TypeError} if its schema cannot be expressed, or completes what is no argument. */
export function createPromptEntry(name: string, config: PromptConfig, handler: PromptHandler): PromptEntry {
  const owner = `prompt "${name}"`;
  checkPromptKeys(owner, config);
  if (typeof handler !== 'function') throw new TypeError(`${owner}: the handler must be a function`);
  const { title, description, argsSchema, icons, _meta } = config;
  const input = compileArgumentsSchema(argsSchema as Schema | undefined, owner);
  const args = promptArguments(input);
  checkCompleters(
    owner,
    config.complete,
    args.map((argument) => argument.name),
  );
  const definition = {
    name,
    ...present({ title, description, arguments: args.length > 0 ? args : undefined, icons, _meta }),
  };
  return {
    name,
    definition,
    input,
    complete: { ...(config.complete as PromptEntry['complete'] | undefined) },
    handler,
  };
}

function promptArguments({ json }: CompiledSchema): PromptArgument[] {
  const required = Array.isArray(json.required) ? json.required : [];
  return Object.entries(isObject(json.properties) ? json.properties : {}).map(([name, field]) => ({
    name,
    ...(isObject(field)
      ? present({ title: field.title as string, description: field.description as string })
      : undefined),
    ...(required.includes(name) ? { required: true } : undefined),
  }));
}

/** Without the fields that are undefined. */
function present<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}
