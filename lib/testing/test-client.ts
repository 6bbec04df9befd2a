/** TestClient: what a test does with a server, in the specification's words. */
import type {
  CallToolResult,
  Completion,
  Era,
  GetPromptResult,
  Implementation,
  JsonRpcNotification,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplate,
  ServerCapabilities,
  SubscriptionFilter,
  Tool,
} from '../protocol/types';
import type { CallOptions, Conversation } from './conversation';

/** What the server has said of itself. */
export interface ServerDescription {
  readonly info: Implementation | undefined;
  readonly capabilities: ServerCapabilities;
  readonly instructions: string | undefined;
}

/** An open subscription. */
export interface Listening {
  /** What of the wishes the server has granted. */
  readonly filter: SubscriptionFilter;
  /** Settles when it is over: closed by either side. Rejects when the connection broke. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

/** What a client is made of. */
interface ClientParts {
  readonly conversation: Conversation;
  readonly revision: string;
  readonly era: Era;
  readonly server: ServerDescription;
  /** What was made for this client alone. */
  readonly release: () => Promise<void>;
}

/**
 * A client of one server, in one revision; made by `connect`. JSON-RPC errors reject with an `McpError`; a tool's failure
 * is a result with `isError: true`.
 */
export class TestClient implements AsyncDisposable {
  readonly revision: string;
  readonly era: Era;
  /** Who answered the handshake (legacy) or `server/discover` (modern). */
  readonly server: ServerDescription;
  readonly #conversation: Conversation;
  readonly #release: () => Promise<void>;
  #closing: Promise<void> | undefined;

  constructor({ conversation, revision, era, server, release }: ClientParts) {
    this.#conversation = conversation;
    this.revision = revision;
    this.era = era;
    this.server = server;
    this.#release = release;
  }

  /** Send any request. Questions of a modern server are answered by the callbacks, and the request is sent again. */
  async request<Result = Record<string, unknown>>(
    method: string,
    params: Record<string, unknown> = {},
    options?: CallOptions,
  ): Promise<Result> {
    return (await this.#conversation.request(method, params, options)) as Result;
  }

  /** Send any notification. */
  notify(method: string, params?: Record<string, unknown>): Promise<void> {
    return this.#conversation.notify(method, params);
  }

  /** Call a tool. */
  callTool(name: string, args: Record<string, unknown> = {}, options?: CallOptions): Promise<CallToolResult> {
    return this.request('tools/call', { name, arguments: args }, options);
  }

  /** All tools this client may know, from all pages. */
  listTools(): Promise<Tool[]> {
    return this.#conversation.list('tools/list', 'tools');
  }

  /** All resources, from all pages. */
  listResources(): Promise<Resource[]> {
    return this.#conversation.list('resources/list', 'resources');
  }

  /** All resource templates, from all pages. */
  listResourceTemplates(): Promise<ResourceTemplate[]> {
    return this.#conversation.list('resources/templates/list', 'resourceTemplates');
  }

  /** All prompts, from all pages. */
  listPrompts(): Promise<Prompt[]> {
    return this.#conversation.list('prompts/list', 'prompts');
  }

  /** Read a resource. */
  readResource(uri: string, options?: CallOptions): Promise<ReadResourceResult> {
    return this.request('resources/read', { uri }, options);
  }

  /** Get a prompt. */
  getPrompt(name: string, args: Record<string, string> = {}, options?: CallOptions): Promise<GetPromptResult> {
    return this.request('prompts/get', { name, arguments: args }, options);
  }

  /**
   * Ask for completions of one argument of a prompt, or one variable of a template.
   *
   * @param others The arguments already given.
   */
  async complete(
    ref: { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string },
    argument: { name: string; value: string },
    others?: Record<string, string>,
  ): Promise<Completion> {
    const context = others === undefined ? {} : { context: { arguments: others } };
    const { completion } = await this.request<{ completion: Completion }>('completion/complete', {
      ref,
      argument,
      ...context,
    });
    return completion;
  }

  /**
   * Hear of changes. Modern: `subscriptions/listen`. Legacy: subscribes to the resources; the other notices come by
   * themselves. What is heard comes from {@link TestClient.notifications}.
   */
  async listen(filter: SubscriptionFilter): Promise<Listening> {
    return this.era === 'modern' ? this.#listen(filter) : this.#subscribe(filter);
  }

  /**
   * What the server says outside its answers, from now on: take the iterator before the call that causes it. Each has its
   * own; at most 10,000 may be unread. Ends when the client is closed.
   */
  notifications(): AsyncIterableIterator<JsonRpcNotification> {
    return this.#conversation.notices.subscribe();
  }

  /** End everything: requests that run reject, the session is ended, a server made for this client is closed. */
  close(): Promise<void> {
    return (this.#closing ??= this.#conversation.close().finally(this.#release));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #listen(wanted: SubscriptionFilter): Promise<Listening> {
    const stop = new AbortController();
    const { filter, ended } = await this.#conversation.listen(wanted, stop.signal);
    const over = ended.then(
      () => undefined,
      (error: unknown) => {
        if (!stop.signal.aborted && this.#closing === undefined) throw error;
      },
    );
    // Nobody may be waiting for it.
    over.catch(() => undefined);
    return {
      filter,
      ended: over,
      close() {
        stop.abort();
        return over;
      },
    };
  }

  async #subscribe({ resourceSubscriptions = [], ...lists }: SubscriptionFilter): Promise<Listening> {
    for (const uri of resourceSubscriptions) await this.request('resources/subscribe', { uri });
    const { tools, prompts, resources } = this.server.capabilities;
    const offered = { toolsListChanged: tools, promptsListChanged: prompts, resourcesListChanged: resources };
    const granted = Object.entries(lists).filter(
      ([name, wanted]) => wanted && offered[name as keyof typeof offered]?.listChanged,
    );
    let settle: () => void;
    const ended = new Promise<void>((resolve) => (settle = resolve));
    return {
      filter: { ...Object.fromEntries(granted), ...(resourceSubscriptions.length > 0 && { resourceSubscriptions }) },
      ended,
      close: async () => {
        for (const uri of resourceSubscriptions) await this.request('resources/unsubscribe', { uri });
        settle();
      },
    };
  }
}
