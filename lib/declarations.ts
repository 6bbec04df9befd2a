/** What an author hands to `registerTool` and its kin: configurations and handlers, as types. */
import type { Context } from './context';
import type { Schema } from './protocol/schema';
import type { InferInput, InferOutput, StandardSchema } from './protocol/standard-schema';
import type {
  Annotations,
  CallToolResult,
  ContentBlock,
  GetPromptResult,
  Icon,
  Meta,
  PromptMessage,
  ReadResourceResult,
  ResourceContents,
  Tool,
  ToolAnnotations,
} from './protocol/types';

/** How a tool presents itself, and what goes in and out. */
export interface ToolConfig<
  In extends Schema | undefined = Schema | undefined,
  Out extends Schema | undefined = Schema | undefined,
> {
  /** For people. */
  title?: string;
  /** For models: what the tool does and when to use it. */
  description?: string;
  /** The arguments: a Standard Schema of an object (`z.object({ … })`), or a JSON Schema object. @default none */
  inputSchema?: In;
  /** The structured value the handler returns; checked on every call. @default none */
  outputSchema?: Out;
  /** Hints for clients. `destructiveHint: true` makes the tool sensitive. */
  annotations?: ToolAnnotations;
  /** Never served while nobody has decided who may (no `authorizer`). A destructive tool is sensitive in any case. @default false */
  sensitive?: boolean;
  icons?: Icon[];
  /** `'always'` answers sessions with a stream from the start, which a client of 2025-11-25 can resume. @default 'auto' */
  stream?: 'auto' | 'always';
  /** Time limit of one call in milliseconds; then the signal aborts and the caller gets an error. @default none */
  timeoutMs?: number;
  _meta?: Meta;
}

/** A tool's arguments as its handler gets them. */
export type ToolArguments<In> = In extends undefined ? Record<string, unknown> : InferOutput<In>;

/** What a handler may return: with an `outputSchema`, the value itself; without, text or content. */
export type ToolReturn<Out> = Out extends undefined
  ? string | ContentBlock[] | CallToolResult | void
  : Out extends StandardSchema
    ? InferInput<Out> | CallToolResult
    : // Of a plain JSON Schema the compiler knows nothing.
      unknown;

/** Does what the tool is for. May throw `ToolError` for a failure that the model should read. */
export type ToolHandler<In = undefined, Out = undefined> = (
  args: ToolArguments<In>,
  context: Context,
) => ToolReturn<Out> | Promise<ToolReturn<Out>>;

/** A tool of a provider. Its schemas are Standard Schemas or JSON Schema objects, best the same object in every list. */
export interface ProvidedTool extends ToolConfig {
  name: string;
}

/** Computes a set of tools per caller. */
export interface ToolProvider {
  /** The tools this caller may know; called for every list and every call that names no registered tool. */
  listTools(context: Context): readonly ProvidedTool[] | Promise<readonly ProvidedTool[]>;
  /** Run a tool of the caller's list; the arguments have passed its `inputSchema`, the authorizer has allowed it. */
  callTool(name: string, args: Record<string, unknown>, context: Context): unknown;
}

/** How a resource presents itself. */
export interface ResourceConfig {
  title?: string;
  description?: string;
  mimeType?: string;
  /** Bytes. */
  size?: number;
  annotations?: Annotations;
  icons?: Icon[];
  _meta?: Meta;
  /** Of a template: suggests values for its variables, by name. */
  complete?: Record<string, Completer>;
  /** Of a template: the resources of it to show in `resources/list`. @default none */
  list?: (context: Context) => readonly ListedResource[] | Promise<readonly ListedResource[]>;
  /** How long clients may keep what they read. @default the server's `cache.read` */
  cache?: CacheHints;
}

/** An instance of a template, as its `list` gives it. */
export interface ListedResource {
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  size?: number;
  annotations?: Annotations;
  icons?: Icon[];
  _meta?: Meta;
}

/** How long, and by whom, an answer may be kept (2026-07-28). */
export interface CacheHints {
  /** Milliseconds. @default 0: ask again each time */
  ttlMs?: number;
  /** `'public'` only where the answer is the same for everybody. @default as the authorizer allows */
  cacheScope?: 'public' | 'private';
}

/** Read the resource `uri`; `variables` are what the template found in it, decoded. */
export type ResourceHandler = (
  uri: string,
  variables: Record<string, string>,
  context: Context,
) => ResourceReturn | Promise<ResourceReturn>;

/** Text, bytes, the contents themselves, or a full result. */
export type ResourceReturn = string | Uint8Array | ResourceContents[] | ReadResourceResult;

/** Suggest values that continue `value`; `others` are the arguments already given. At most 100 are sent. */
export type Completer = (
  value: string,
  others: Record<string, string>,
  context: Context,
) => readonly string[] | Promise<readonly string[]>;

/** How a prompt presents itself. */
export interface PromptConfig<Args extends Schema | undefined = Schema | undefined> {
  title?: string;
  description?: string;
  /** The arguments: a schema of an object whose fields take strings. @default none */
  argsSchema?: Args;
  /** Suggests values for the arguments, by name. */
  complete?: Args extends undefined ? Record<string, Completer> : { [Name in keyof InferInput<Args>]?: Completer };
  icons?: Icon[];
  _meta?: Meta;
}

/** Write the prompt. */
export type PromptHandler<Args = undefined> = (
  args: ToolArguments<Args>,
  context: Context,
) => PromptReturn | Promise<PromptReturn>;

/** One user message, the messages, or a full result. */
export type PromptReturn = string | PromptMessage[] | GetPromptResult;

/** What a registration can be told later. */
export interface Handle<Config> {
  readonly name: string;
  /**
   * Change what is given, keep the rest (`undefined` is not given); clients are told that the list has changed. What
   * runs already runs on as it was.
   *
   * @throws {TypeError | RangeError} as the registration does, and after {@link Handle.remove}; nothing has changed then.
   */
  update(changes: Partial<Config>): void;
  /** Take it away; clients are told. A second call does nothing. */
  remove(): void;
}

/** A tool's own definition, as the authorizer sees it. */
export interface ToolDefinition extends Tool {
  sensitive: boolean;
}
