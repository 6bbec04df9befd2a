/** One client's side of the protocol: requests and their rounds, questions, notifications, in the words of its revision. */
import { ErrorCode, errorResponse, McpError } from '../protocol/errors';
import { subscriptionIdKey } from '../protocol/params';
import type {
  JsonRpcMessage,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
  ProgressToken,
  RequestId,
  SubscriptionFilter,
  Tool,
} from '../protocol/types';
import { checkWait } from '../settings';
import { answer, answerAll, NoCallbackError } from './answers';
import type { Callbacks } from './answers';
import type { Channel, Receive } from './channel';
import { MirroredHeaders } from './mirrored-headers';
import { Notices } from './notices';

/** How far a call is. */
export interface Progress {
  progress: number;
  total?: number;
  message?: string;
}

/** What one request can be given besides its params. */
export interface CallOptions {
  /** Aborting it cancels the request, in the way of its transport; the promise rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Hears of progress; the request then carries a progress token. */
  onProgress?: (progress: Progress) => void;
  /** How long the answer may take, in milliseconds. @default what `connect` was given */
  timeoutMs?: number;
}

/** How a client speaks. */
export interface ConversationOptions extends Callbacks {
  readonly revision: string;
  /** Modern: the `_meta` of every request; legacy: none. */
  readonly meta: Readonly<Record<string, unknown>>;
  readonly timeoutMs: number;
  readonly maxRounds: number;
}

/** Pages of a list that are fetched: a list that never ends is a fault. */
const maxPages = 1_000;

/** Lives from `connect` to `close`. */
export class Conversation {
  readonly notices = new Notices();
  readonly #options: ConversationOptions;
  readonly #channel: Channel;
  readonly #mirrored = new MirroredHeaders();
  readonly #closed = new AbortController();
  readonly #progress = new Map<ProgressToken, (progress: Progress) => void>();
  readonly #acknowledged = new Map<RequestId, (filter: SubscriptionFilter) => void>();
  #lastId = 0;
  /** What a callback has thrown while the server waited for its answer: the next request to end throws it. */
  #thrown: { readonly error: unknown } | undefined;

  constructor(options: ConversationOptions, open: (receive: Receive) => Channel) {
    this.#options = options;
    this.#channel = open((message) => this.#receive(message));
  }

  /** Send a request; while the answer is a question, answer it and send the request again. */
  async request(
    method: string,
    params: Record<string, unknown>,
    options: CallOptions = {},
  ): Promise<Record<string, unknown>> {
    const { maxRounds } = this.#options;
    let answers: Record<string, unknown> = {};
    for (let round = 0; round <= maxRounds; round += 1) {
      const result = await this.#mirror(method, { ...params, ...answers }, options);
      if (result.resultType !== 'input_required') return result;
      answers = await answerAll(this.#options, result);
    }
    throw new Error(`${method} has been answered ${maxRounds} times, and asks again (option maxRounds)`);
  }

  async notify(method: string, params: Record<string, unknown> = {}): Promise<void> {
    await this.#channel.send({ jsonrpc: '2.0', method, params: this.#withMeta(params) });
  }

  /** All pages of a list. */
  async list<T>(method: string, field: string): Promise<T[]> {
    const entries: T[] = [];
    let cursor: unknown;
    for (let page = 0; page < maxPages; page += 1) {
      const result = await this.request(method, cursor === undefined ? {} : { cursor });
      entries.push(...(result[field] as T[]));
      cursor = result.nextCursor;
      if (cursor === undefined) break;
    }
    if (cursor !== undefined) throw new Error(`${method} has more than ${maxPages} pages`);
    if (this.#channel.mirrorsParams && method === 'tools/list') this.#mirrored.learn(entries as Tool[]);
    return entries;
  }

  /** Modern `subscriptions/listen`: the filter that was acknowledged, and the end. */
  async listen(
    notifications: SubscriptionFilter,
    signal: AbortSignal,
  ): Promise<{ filter: SubscriptionFilter; ended: Promise<unknown> }> {
    const id = (this.#lastId += 1);
    const acknowledged = new Promise<SubscriptionFilter>((resolve) => this.#acknowledged.set(id, resolve));
    const late = deadline('The acknowledgement of subscriptions/listen', this.#options.timeoutMs);
    const stopped = AbortSignal.any([signal, late.signal]);
    const ended = this.#exchange('subscriptions/listen', { notifications }, { signal: stopped, timeoutMs: 0 }, id);
    const early = ended.then(() => Promise.reject(new Error('The subscription ended before it was acknowledged')));
    // Once acknowledged, its end is no fault.
    early.catch(() => undefined);
    try {
      return { filter: await Promise.race([acknowledged, early]), ended };
    } finally {
      late.clear();
      this.#acknowledged.delete(id);
    }
  }

  /** Legacy: hear what belongs to no request. */
  async hear(): Promise<void> {
    await this.#channel.listen();
  }

  async close(): Promise<void> {
    this.#closed.abort(new Error('The client was closed'));
    await this.#channel.close();
    this.notices.close();
  }

  /** Send; where the server misses headers, learn from the list which ones, and send again. */
  async #mirror(method: string, params: Record<string, unknown>, options: CallOptions) {
    try {
      return await this.#exchange(method, params, options);
    } catch (error) {
      // basic/transports/streamable-http, "Client Behavior": tools/list says what travels in headers.
      if (method !== 'tools/call' || !(error instanceof McpError) || error.code !== ErrorCode.HeaderMismatch)
        throw error;
      await this.list('tools/list', 'tools');
      return this.#exchange(method, params, options);
    }
  }

  /** One request, one result. */
  async #exchange(
    method: string,
    params: Record<string, unknown>,
    { signal, onProgress, timeoutMs = this.#options.timeoutMs }: CallOptions,
    id: RequestId = (this.#lastId += 1),
  ): Promise<Record<string, unknown>> {
    const late = deadline(`The answer to ${method}`, timeoutMs);
    const stopped = AbortSignal.any([late.signal, this.#closed.signal, ...(signal === undefined ? [] : [signal])]);
    if (onProgress !== undefined) this.#progress.set(id, onProgress);
    try {
      stopped.throwIfAborted();
      const message = { jsonrpc: '2.0', id, method, params: this.#withMeta(params, onProgress && id) } as const;
      const headers = this.#channel.mirrorsParams ? this.#mirrored.of(method, params, this.#options.revision) : {};
      const response = await this.#channel.request(message, headers, stopped);
      if (this.#thrown !== undefined) throw this.#thrown.error;
      if ('error' in response) throw new McpError(response.error.code, response.error.message, response.error.data);
      return response.result;
    } catch (error) {
      if (stopped.aborted) await this.#cancel(id, stopped.reason);
      throw this.#thrown === undefined ? error : this.#thrown.error;
    } finally {
      late.clear();
      this.#progress.delete(id);
      this.#thrown = undefined;
    }
  }

  /** The server need not be there to hear it. */
  async #cancel(requestId: RequestId, reason: unknown): Promise<void> {
    if (this.#closed.signal.aborted || !this.#channel.cancelsByMessage) return;
    await this.notify('notifications/cancelled', { requestId, reason: String(reason) }).catch(() => undefined);
  }

  #withMeta(params: Record<string, unknown>, progressToken?: ProgressToken): Record<string, unknown> {
    const meta = {
      ...this.#options.meta,
      ...(progressToken === undefined ? undefined : { progressToken }),
      ...(params._meta as object | undefined),
    };
    return Object.keys(meta).length > 0 ? { ...params, _meta: meta } : params;
  }

  #receive(message: JsonRpcMessage): void {
    // A response that nobody waits for any more: the request was given up.
    if (!('method' in message)) return;
    if ('id' in message) void this.#answer(message);
    else this.#hear(message);
  }

  #hear(notification: JsonRpcNotification): void {
    const { method, params = {} } = notification;
    if (method === 'notifications/subscriptions/acknowledged') {
      const id = (params._meta as Record<string, RequestId> | undefined)?.[subscriptionIdKey];
      return this.#acknowledged.get(id!)?.(params.notifications as SubscriptionFilter);
    }
    if (method === 'notifications/progress') {
      try {
        this.#progress.get(params.progressToken as ProgressToken)?.(params as unknown as Progress);
      } catch (error) {
        this.#thrown ??= { error };
      }
    }
    this.notices.add(notification);
  }

  /** Legacy: the server asks by a request of its own. */
  async #answer({ id, method, params }: JsonRpcRequest): Promise<void> {
    let response: JsonRpcResponse;
    try {
      const result = method === 'ping' ? {} : await answer(this.#options, method, params);
      response = { jsonrpc: '2.0', id, result: result as Record<string, unknown> };
    } catch (error) {
      // The test must hear of it, not the server alone.
      this.#thrown ??= { error };
      const code = error instanceof NoCallbackError ? ErrorCode.MethodNotFound : ErrorCode.InternalError;
      response = errorResponse(id, code, error instanceof Error ? error.message : 'The callback threw');
    }
    try {
      await this.#channel.send(response);
    } catch (error) {
      if (!this.#closed.signal.aborted) this.#thrown ??= { error };
    }
  }
}

/** A signal that aborts after `ms`, unless it is cleared; never for 0. */
function deadline(what: string, timeoutMs: number): { signal: AbortSignal; clear(): void } {
  const ms = checkWait('timeoutMs', timeoutMs);
  const late = new AbortController();
  const timer =
    ms > 0 ? setTimeout(() => late.abort(new Error(`${what} did not come within ${ms} ms`)), ms) : undefined;
  return { signal: late.signal, clear: () => clearTimeout(timer) };
}
