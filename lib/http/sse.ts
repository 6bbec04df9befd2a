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
  /** The socket takes messages again. */
  readonly onDrain: () => void;
  /** Nothing more is written, whoever ended it; heard once. */
  readonly onClose: () => void;
}

/** What all streams of a mount have in common. */
export interface SseSinkLimits {
  /** Bytes that may wait on the socket. */
  readonly maxSocketBytes: number;
  /** A silent stream gets a comment after this time; one from which nothing leaves for twice as long is dead. */
  readonly keepAliveMs: number;
}

/** When a stream is closed although it is not at its end, and when its client should come back, in milliseconds. */
export interface SseAgeing {
  readonly maxStreamAgeMs: number;
  readonly retryMs: number;
}

/** Up to half as much again, so that clients do not all come back at once. */
export function jittered(ms: number): number {
  return Math.round(ms * (1 + Math.random() / 2));
}

// Line separators that clients' line splitters know and JSON does not escape.
const separators = /[\u0085\u2028\u2029]/g;

/** One `data:` line, whatever the text holds. */
export function encodeData(json: string): string {
  return json.replace(separators, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * Writes a stream's messages to one response. Ends with {@link SseSink.close} or the client's going; the socket may need
 * a while more to take the rest.
 */
export class SseSink implements Sink {
  readonly #res: ServerResponse;
  readonly #options: SseSinkOptions;
  readonly #limits: SseSinkLimits;
  #closedAt: number | undefined;
  #full = false;
  /** Since when something waits on the socket and nothing is known to have left it. */
  #stalledSince: number | undefined;
  #lastWriteAt = Date.now();
  readonly openedAt = this.#lastWriteAt;

  /** @param onGone The response is over, and the socket free of it. */
  constructor(res: ServerResponse, limits: SseSinkLimits, options: SseSinkOptions, onGone: (sink: SseSink) => void) {
    this.#res = res;
    this.#limits = limits;
    this.#options = options;
    res.writeHead(200, headers);
    res.on('close', () => {
      this.#closed();
      onGone(this);
    });
    // A write to a socket that is gone fails; `close` says so.
    res.on('error', () => undefined);
    const { primeWith, retryMs } = options;
    if (primeWith === undefined) res.flushHeaders();
    // In one piece with the head: whoever has that can come back, however soon this process dies.
    else this.#write(`${this.#id(primeWith)}${retryMs === undefined ? '' : `retry: ${retryMs}\n`}data: \n\n`);
  }

  #id(position: number): string {
    const { idPrefix } = this.#options;
    return idPrefix === undefined ? '' : `id: ${idPrefix}${position}\n`;
  }

  #write(text: string): boolean {
    if (this.closed) return false;
    const { maxSocketBytes } = this.#limits;
    this.#lastWriteAt = Date.now();
    // `drain` comes only above a mark of Node's own; a write can be heard of whatever the limit. A character is 3 bytes at most.
    if (this.#res.writableLength + 3 * text.length < maxSocketBytes) this.#res.write(text);
    else this.#res.write(text, this.#flushed);
    this.#full = this.#res.writableLength >= maxSocketBytes;
    return !this.#full;
  }

  readonly #flushed = (error?: Error | null): void => {
    this.#stalledSince = undefined;
    if (error || !this.#full || this.closed) return;
    this.#full = false;
    this.#options.onDrain();
  };

  #closed(): void {
    if (this.closed) return;
    this.#closedAt = Date.now();
    this.#options.onClose();
  }

  write({ position, json }: StreamEvent): boolean {
    return this.#write(`${this.#id(position)}data: ${encodeData(json)}\n\n`);
  }

  /** Look after the connection: keep it from being taken for dead, note when it is, give up on it once closed. */
  tick(now: number): void {
    const { keepAliveMs } = this.#limits;
    if (this.#closedAt !== undefined) {
      // Whoever has not taken the rest by now does not read.
      if (now - this.#closedAt >= 2 * keepAliveMs) this.#res.destroy();
    } else if (this.#res.writableLength > 0) {
      // No comment behind what has not left yet.
      this.#stalledSince ??= now;
    } else {
      // Middleware that wraps `write` may have lost what was to be heard.
      this.#flushed();
      if (now - this.#lastWriteAt >= keepAliveMs) this.#write(': keep-alive\n\n');
    }
  }

  get dead(): boolean {
    return (
      this.closed ||
      (this.#stalledSince !== undefined && Date.now() - this.#stalledSince >= 2 * this.#limits.keepAliveMs)
    );
  }

  get closed(): boolean {
    return this.#closedAt !== undefined;
  }

  /** End what is old enough, and tell the client to come back; for a stream that is not at its end. */
  closeAt({ maxStreamAgeMs, retryMs }: SseAgeing, now: number): void {
    if (now - this.openedAt < maxStreamAgeMs) return;
    this.#write(`retry: ${jittered(retryMs)}\n\n`);
    this.close();
  }

  /** No more messages; what is written already may still leave. */
  close(): void {
    if (this.closed) return;
    this.#closed();
    this.#res.end();
  }

  /** The end of all grace: what has not left by now never will. */
  cut(): void {
    this.close();
    if (this.#res.writableLength > 0) this.#res.destroy();
  }
}
