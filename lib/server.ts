/** McpServer: declares what there is and who may; every transport's messages come in through its door. */
import { Connections } from './connections';
import type { Connection } from './connections';
import { publish } from './core';
import type { Notice, ServerCore } from './core';
import { createCore } from './create-core';
import type { McpServerOptions, ServerInfo } from './create-core';
import type {
  Handle,
  PromptConfig,
  PromptHandler,
  ResourceConfig,
  ResourceHandler,
  ToolConfig,
  ToolHandler,
  ToolProvider,
} from './declarations';
import type { Schema } from './protocol/schema';
import { loggingLevels } from './protocol/types';
import type { JsonRpcMessage, JsonRpcNotification, JsonRpcResponse, LoggingLevel } from './protocol/types';
import { checkName, createPromptEntry, createResourceEntry, createTemplateEntry, createToolEntry } from './registry';
import type { ListKind, ToolEntry } from './registry';

/** That the resource `uri` has changed: for those who asked for it, and once where several wait. */
function updated(uri: string, message: JsonRpcNotification): Notice {
  return { message, mergeKey: `updated ${uri}`, uri };
}

/** Look inside a server: for the package's own transports. */
export let coreOf: (server: McpServer) => ServerCore;

/**
 * An MCP server: what it offers, and who may use it. Mount it with `mcpRouter`, serve it over stdio, or call
 * {@link McpServer.handleMessage} from a transport of your own.
 */
export class McpServer {
  static {
    coreOf = (server) => server.#core;
  }

  readonly #core: ServerCore;
  readonly #connections: Connections;

  /**
   * @param info Name and version, as clients are told.
   * @throws {TypeError | RangeError} for an option that makes no sense, naming it.
   */
  constructor(info: ServerInfo, options: McpServerOptions = {}) {
    // From JavaScript, without any: the check of its fields says more than the language does.
    this.#core = createCore(info ?? {}, options);
    this.#connections = new Connections(this.#core);
  }

  /**
   * Offer a tool.
   *
   * @throws {TypeError} if the name is taken or malformed, or a schema cannot be expressed; naming tool and path.
   */
  registerTool<In extends Schema | undefined = undefined, Out extends Schema | undefined = undefined>(
    name: string,
    config: ToolConfig<In, Out>,
    // The config alone says what the types are: so literals in what the handler returns keep theirs.
    handler: NoInfer<ToolHandler<In, Out>>,
  ): Handle<ToolConfig<In, Out> & { handler: ToolHandler<In, Out> }> {
    checkName('tool', name);
    type Settings = ToolConfig<In, Out> & { handler: ToolHandler<In, Out> };
    // The entry is untyped inside: its schemas have checked what the types say here.
    const make = ({ handler, ...rest }: Settings) =>
      createToolEntry(name, rest, handler as unknown as ToolEntry['handler']);
    return this.#declare(
      'tools',
      'tool',
      this.#core.registry.tools,
      name,
      name,
      { ...config, handler } as Settings,
      make,
    );
  }

  /**
   * Offer a resource, or a family of them where `uri` is an RFC 6570 template.
   *
   * @throws {TypeError} if the uri is taken, or the template cannot be matched safely.
   */
  registerResource(
    name: string,
    uri: string,
    config: ResourceConfig,
    handler: ResourceHandler,
  ): Handle<ResourceConfig & { handler: ResourceHandler }> {
    checkName('resource', name);
    if (typeof uri !== 'string' || uri === '')
      throw new TypeError(`resource "${name}": uri must be a uri or a template`);
    const { registry } = this.#core;
    const settings = { ...config, handler };
    return uri.includes('{')
      ? this.#declare('resources', 'resource', registry.templates, uri, name, settings, ({ handler, ...rest }) =>
          createTemplateEntry(name, uri, rest, handler),
        )
      : this.#declare('resources', 'resource', registry.resources, uri, name, settings, ({ handler, ...rest }) =>
          createResourceEntry(name, uri, rest, handler),
        );
  }

  /**
   * Offer a prompt.
   *
   * @throws {TypeError} if the name is taken, or the schema cannot be expressed.
   */
  registerPrompt<Args extends Schema | undefined = undefined>(
    name: string,
    config: PromptConfig<Args>,
    handler: PromptHandler<Args>,
  ): Handle<PromptConfig<Args> & { handler: PromptHandler<Args> }> {
    checkName('prompt', name);
    type Settings = PromptConfig<Args> & { handler: PromptHandler<Args> };
    const make = ({ handler, ...rest }: Settings) =>
      createPromptEntry(name, rest as PromptConfig, handler as unknown as PromptHandler);
    return this.#declare(
      'prompts',
      'prompt',
      this.#core.registry.prompts,
      name,
      name,
      { ...config, handler } as Settings,
      make,
    );
  }

  #declare<Settings extends object, Entry>(
    list: ListKind,
    kind: string,
    entries: Map<string, Entry>,
    key: string,
    name: string,
    settings: Settings,
    make: (settings: Settings) => Entry,
  ): Handle<Settings> {
    if (entries.has(key))
      throw new TypeError(`${kind} "${key}" is registered already; change it through its handle's update()`);
    const { registry } = this.#core;
    let current = settings;
    let entry = make(settings);
    const isMine = () => entries.get(key) === entry;
    const put = () => {
      entries.set(key, entry);
      if ('complete' in current && current.complete !== undefined) registry.declared.add('completions');
      registry.changed(list);
    };
    put();
    return {
      name,
      update(changes) {
        if (!isMine()) throw new TypeError(`${kind} "${key}" has been removed`);
        const given = Object.entries(changes).filter(([, value]) => value !== undefined);
        const next = { ...current, ...Object.fromEntries(given) };
        entry = make(next);
        current = next;
        put();
      },
      remove() {
        if (!isMine()) return;
        entries.delete(key);
        registry.changed(list);
      },
    };
  }

  /** Offer a set of tools that is computed per caller. Registered tools go first where names meet. One provider at a time. */
  provideTools(provider: ToolProvider): { remove(): void } {
    const { registry } = this.#core;
    if (typeof provider?.listTools !== 'function' || typeof provider.callTool !== 'function') {
      throw new TypeError('provideTools(provider): provider needs the functions listTools and callTool');
    }
    if (registry.provider !== undefined)
      throw new TypeError('provideTools(provider): there is a provider already; remove it first');
    registry.provider = provider;
    registry.changed('tools');
    return {
      remove() {
        if (registry.provider !== provider) return;
        registry.provider = undefined;
        registry.changed('tools');
      },
    };
  }

  /** Has somebody decided who may use the tools? False when unsure. */
  authorizationConfigured(): boolean {
    return this.#core.authorizerConfigured;
  }

  /** Has somebody decided who may use resources, prompts and completion? False when unsure. */
  readAuthorizationConfigured(): boolean {
    return this.#core.readAuthorizerConfigured;
  }

  /**
   * Carry out one message (or, of a 2025-03-26 client, a batch) that came in over a transport of your own.
   *
   * @param message The parsed JSON, whatever it is.
   * @param connection The client it came from, the same object for all its messages. Without one, ordinary requests
   *   work, and nothing can be asked of the client.
   * @returns The response to send back, or undefined where there is none. Never rejects. Read on while it is pending:
   *   the answer to a question comes as another message.
   */
  handleMessage(message: unknown, connection?: Connection): Promise<JsonRpcResponse | JsonRpcResponse[] | undefined> {
    return this.#connections.handle(message, connection);
  }

  /**
   * Hear what the server sends this connection on its own: progress, questions, notices of changes.
   *
   * @returns Stop listening; the connection ends, what it has running is cancelled.
   */
  subscribe(listener: (message: JsonRpcMessage) => void, connection: Connection): () => void {
    return this.#connections.subscribe(listener, connection);
  }

  /**
   * Send a notification to every connection that can hear it and wants it (a log message its level, a change of a
   * resource its uri, the completion of an elicitation its id), or to one.
   *
   * @throws {TypeError} for a method that is no notification's; a log message without a level; an update without a uri.
   */
  notify(method: string, params?: Record<string, unknown>, connection?: Connection): void {
    if (typeof method !== 'string' || !method.startsWith('notifications/'))
      throw new TypeError(`notify(method): must start with "notifications/", got ${JSON.stringify(method)}`);
    if (method === 'notifications/message' && !loggingLevels.includes(params?.level as LoggingLevel))
      throw new TypeError(
        `notify('notifications/message', { level }): must be one of ${loggingLevels.join(', ')}, got ${JSON.stringify(params?.level)}`,
      );
    const message =
      params === undefined ? { jsonrpc: '2.0' as const, method } : { jsonrpc: '2.0' as const, method, params };
    if (connection !== undefined) this.#connections.send(connection, message);
    else if (method !== 'notifications/resources/updated') publish(this.#core, { message });
    else if (typeof params?.uri === 'string') publish(this.#core, updated(params.uri, message));
    else throw new TypeError(`notify('${method}', { uri }): must be the uri of a resource`);
  }

  /** Say that a provider's set of tools has changed. */
  notifyToolsChanged(): void {
    this.#core.registry.changed('tools');
  }

  /** Say that the set of prompts has changed. */
  notifyPromptsChanged(): void {
    this.#core.registry.changed('prompts');
  }

  /** Say that the set of resources (what a template's `list` gives) has changed. */
  notifyResourcesChanged(): void {
    this.#core.registry.changed('resources');
  }

  /** Say that the resource `uri` reads differently now; only those who subscribed to it hear. */
  notifyResourceUpdated(uri: string): void {
    this.notify('notifications/resources/updated', { uri });
  }
}
