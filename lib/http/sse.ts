/** Server-Sent Events on one response. */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Sink, StreamEvent } from '../sessions/stream';

/** transports, "Receiving Messages": no proxy holds events back; `no-transform` keeps compression from it too. */
const headers: OutgoingHttpHeaders = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
};

/** What a stream is opened with. */
export interface SseSinkOptions {
  /** Put before each position to make an event's id; without it events have none, and cannot be resumed. */
  readonly idPrefix?: string;
  /** Begin with an event that has an id and no data, so that a client can resume before the first message. */
  readonly primeWith?: number;
  /** How long the client should wait before it reconnects, in milliseconds. */
  readonly retryMs?: number;
  /** Bytes that may wait on the socket. */
  readonly maxSocketBytes: number;
  /** The socket takes messages again. */
  readonly onDrain: () => void;
  /** The response is over, whoever ended it. */
  readonly onClose: () => void;
}

// Line separators that clients' line splitters know and JSON does not escape.
const separators = /[\u0085\u2028\u2029]/g;

/** One `data:` line, whatever the text holds. */
export function encodeData(json: string): string {
  return json.replace(separators, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Writes a stream's messages to one response. Ends with {@link SseSink.close} or the client's going. */
export class SseSink implements Sink {
  readonly #res: ServerResponse;
  readonly #options: SseSinkOptions;
  #closed = false;
  #stalledSince: number | undefined;
  /** When something was last written. */
  lastWriteAt = Date.now();
  readonly openedAt = this.lastWriteAt;

  constructor(res: ServerResponse, options: SseSinkOptions) {
    this.#res = res;
    this.#options = options;
    res.on('close', () => {
      this.#closed = true;
      options.onClose();
    });
    // A write to a socket that is gone fails; `close` says so.
    res.on('error', () => undefined);
    res.writeHead(200, headers);
    res.flushHeaders();
    const { primeWith, retryMs } = options;
    if (primeWith !== undefined)
      this.#write(`${this.#id(primeWith)}${retryMs === undefined ? '' : `retry: ${retryMs}\n`}data: \n\n`);
  }

  #id(position: number): string {
    return this.#options.idPrefix === undefined ? '' : `id: ${this.#options.idPrefix}${position}\n`;
  }

  #write(text: string): boolean {
    if (this.#closed) return false;
    this.lastWriteAt = Date.now();
    this.#res.write(text);
    if (this.#res.writableLength < this.#options.maxSocketBytes) return true;
    this.#res.once('drain', this.#options.onDrain);
    return false;
  }

  write({ position, json }: StreamEvent): boolean {
    return this.#write(`${this.#id(position)}data: ${encodeData(json)}\n\n`);
  }

  /** A comment, to keep the connection from being taken for dead; none while the last one has not left yet. */
  keepAlive(now: number): void {
    if (this.#res.writableLength > 0) {
      this.#stalledSince ??= now;
      return;
    }
    this.#stalledSince = undefined;
    this.#write(': keep-alive\n\n');
  }

  /** Nothing has left the socket for this long: nobody reads, as far as can be told. */
  isDead(now: number, afterMs: number): boolean {
    return this.#closed || (this.#stalledSince !== undefined && now - this.#stalledSince >= afterMs);
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Tell the client to come back; for a stream that is not at its end. */
  writeRetry(retryMs: number): void {
    this.#write(`retry: ${retryMs}\n\n`);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#res.end();
  }
}
