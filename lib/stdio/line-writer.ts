/** Messages to the client: one a line, with a bound on what waits for a client that does not read. */
import type { Writable } from 'node:stream';
import { encodeData } from '../http/sse';
import { divert } from './divert';
import type { Diverted } from './divert';

/** From here on a slow client is not read from, until it has read itself. */
const pauseBytes = 1024 * 1024;

/** What the writer tells. */
export interface LineWriterOptions {
  /** With more bytes waiting than this when something is to be sent, the client counts as dead. */
  readonly maxWaitingBytes: number;
  /** Much is waiting. */
  onPause(): void;
  /** All has left. */
  onResume(): void;
  /** `maxWaitingBytes` are waiting. */
  onFull(): void;
}

/** Writes to one stream until it is closed. */
export class LineWriter {
  readonly #stdout: Writable;
  readonly #options: LineWriterOptions;
  readonly #diverted: Diverted | undefined;
  #paused = false;
  #closed = false;

  constructor(stdout: Writable, options: LineWriterOptions) {
    this.#stdout = stdout;
    this.#options = options;
    this.#diverted = stdout === process.stdout ? divert(stdout, process.stderr) : undefined;
  }

  /** Write one message. After the end, and to a client that does not read, nothing is written. */
  write(json: string): void {
    if (this.#closed || this.#stdout.destroyed || this.#stdout.writableEnded) return;
    if (this.#stdout.writableLength > this.#options.maxWaitingBytes) {
      this.close();
      return this.#options.onFull();
    }
    // JSON has no line feed in it; nor may it have what other line splitters take for one.
    const line = `${encodeData(json)}\n`;
    if (this.#diverted === undefined) this.#stdout.write(line, 'utf8');
    else this.#diverted.write(line);
    if (this.#paused || this.#stdout.writableLength <= pauseBytes || !this.#stdout.writableNeedDrain) return;
    this.#paused = true;
    this.#options.onPause();
    this.#stdout.once('drain', () => {
      this.#paused = false;
      this.#options.onResume();
    });
  }

  /** Write no more, and give stdout back. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#diverted?.restore();
  }

  /** Everything has left, or the stream is gone. */
  async flushed(): Promise<void> {
    if (this.#stdout.writableLength === 0 || this.#stdout.destroyed) return;
    await new Promise<void>((resolve) => this.#stdout.write('', () => resolve()));
  }
}
