/** One client over two streams, from its first line to its last. */
import type { Readable, Writable } from 'node:stream';
import type { Connection } from '../connections';
import { ErrorCode, errorResponse } from '../protocol/errors';
import { encodeResponse, isObject, isRequestId } from '../protocol/json-rpc';
import type { JsonRpcResponse, RequestId } from '../protocol/types';
import type { McpServer } from '../server';
import { checkWait } from '../settings';
import { createLineReader } from './line-reader';
import { LineWriter } from './line-writer';

/** Streams that are in use: two readers would each get a part of the lines. */
const served = new WeakSet<Readable | Writable>();

/** How long the end waits for a client that does not read. */
const flushMs = 1_000;

/** The options, checked. */
export interface Settings {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly connection: Connection;
  readonly maxLineBytes: number;
  readonly maxWaitingBytes: number;
  readonly maxCalls: number;
  readonly onError: (error: unknown) => void;
}

/** One client being served. Ends with {@link Serving.close}, with stdin, or with a broken stream. */
export class Serving {
  readonly closed: Promise<void>;
  readonly #server: McpServer;
  readonly #settings: Settings;
  readonly #writer: LineWriter;
  readonly #stopListening: () => void;
  readonly #feed: (chunk: Buffer) => void;
  /** Requests that run, subscriptions apart: at most `maxCalls` of both. */
  #running = 0;
  #subscriptions = 0;
  #idle: (() => void) | undefined;
  #closing = false;
  #ended = false;
  #settle!: () => void;

  /** @throws {TypeError} if one of the streams is being served. */
  constructor(server: McpServer, settings: Settings) {
    const { stdin, stdout, connection, maxLineBytes, maxWaitingBytes, onError } = settings;
    if (served.has(stdin) || served.has(stdout))
      throw new TypeError('serveStdio: stdin or stdout is being served already; close() that first');
    this.#server = server;
    this.#settings = settings;
    this.closed = new Promise((resolve) => (this.#settle = resolve));
    this.#writer = new LineWriter(stdout, {
      maxWaitingBytes,
      onPause: () => stdin.pause(),
      onResume: () => this.#ended || stdin.resume(),
      onFull: () => this.#fail(new Error(`The client does not read: over ${maxWaitingBytes} bytes wait on stdout`)),
    });
    this.#feed = createLineReader({
      maxLineBytes,
      onMessage: (message) => void this.#receive(message).catch(onError),
      onRefuse: ({ code, message }) => this.#send(errorResponse(undefined, code, message)),
    });
    this.#stopListening = server.subscribe((message) => this.#writer.write(JSON.stringify(message)), connection);
    served.add(stdin).add(stdout);
    stdin.on('data', this.#onData).on('end', this.#end).on('close', this.#end).on('error', this.#fail);
    stdout.on('close', this.#end).on('error', this.#fail);
    if (stdin.readableEnded || stdin.destroyed || stdout.destroyed) this.#end();
  }

  async close({ graceMs = 10_000 }: { graceMs?: number } = {}): Promise<void> {
    const limitMs = checkWait('close({ graceMs }): graceMs', graceMs);
    if (this.#closing || this.#ended) return this.closed;
    this.#closing = true;
    let timer: NodeJS.Timeout | undefined;
    if (this.#running > 0 && limitMs > 0) {
      const idle = new Promise<void>((resolve) => (this.#idle = resolve));
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, limitMs)));
      await Promise.race([idle, late, this.closed]);
      clearTimeout(timer);
    }
    this.#end();
    return this.closed;
  }

  readonly #onData = (chunk: Buffer | string): void => {
    if (!this.#ended) this.#feed(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  };

  /** Carry out one message. Not awaited by the reader: the answer to a question must overtake the call that asked. */
  async #receive(message: unknown): Promise<void> {
    if (this.#ended) return;
    const { id, method } = isObject(message) ? message : {};
    const isRequest = method !== undefined && isRequestId(id);
    const refusal = isRequest || Array.isArray(message) ? this.#refusal() : undefined;
    if (refusal !== undefined)
      return this.#send(errorResponse(isRequest ? id : undefined, ErrorCode.InvalidRequest, refusal));

    const listens = isRequest && method === 'subscriptions/listen';
    const size = Array.isArray(message) ? message.length : isRequest ? 1 : 0;
    if (listens) this.#subscriptions += 1;
    else this.#running += size;
    let response: JsonRpcResponse | JsonRpcResponse[] | undefined;
    try {
      response = await this.#server.handleMessage(message, this.#settings.connection);
    } finally {
      if (listens) this.#subscriptions -= 1;
      else this.#running -= size;
    }
    if (response !== undefined) this.#send(response);
    // basic/patterns/cancellation: a server that ends a subscription MUST send this; the text on subscriptions has a result.
    if (listens && response !== undefined && 'result' in response) this.#cancel(id);
    if (this.#running === 0) this.#idle?.();
  }

  #refusal(): string | undefined {
    if (this.#closing) return 'The server is shutting down';
    return this.#running + this.#subscriptions >= this.#settings.maxCalls ? 'Too many requests are running' : undefined;
  }

  #cancel(requestId: RequestId): void {
    const params = { requestId, reason: 'The server has ended the subscription' };
    this.#writer.write(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params }));
  }

  #send(response: JsonRpcResponse | JsonRpcResponse[]): void {
    this.#writer.write(
      Array.isArray(response) ? `[${response.map((one) => this.#encode(one)).join()}]` : this.#encode(response),
    );
  }

  #encode(response: JsonRpcResponse): string {
    try {
      return encodeResponse(response);
    } catch (error) {
      // What an author returned has no JSON (a circle, a BigInt).
      this.#settings.onError(error);
      return encodeResponse(errorResponse(response.id, ErrorCode.InternalError, 'Internal error'));
    }
  }

  /** Not an end that anybody asked for; a client that has gone is one, though. */
  readonly #fail = (error: NodeJS.ErrnoException): void => {
    if (!this.#ended && error.code !== 'EPIPE') this.#settings.onError(error);
    this.#end();
  };

  readonly #end = (): void => {
    if (this.#ended) return;
    this.#ended = true;
    const { stdin } = this.#settings;
    stdin.off('data', this.#onData).off('end', this.#end).off('close', this.#end);
    stdin.pause();
    this.#stopListening();
    // One turn later, for the results that subscriptions end with.
    setImmediate(() => void this.#finish());
  };

  async #finish(): Promise<void> {
    const { stdin, stdout } = this.#settings;
    this.#writer.close();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => (timer = setTimeout(resolve, flushMs, true)));
    const isLate = await Promise.race([this.#writer.flushed(), late]);
    clearTimeout(timer);
    stdin.off('error', this.#fail);
    // What has not left may still fail, and nobody else listens.
    if (!isLate) stdout.off('error', this.#fail);
    stdout.off('close', this.#end);
    served.delete(stdin);
    served.delete(stdout);
    this.#settle();
  }
}
