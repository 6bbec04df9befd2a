/** Tells the store what a reply's stream carries, so that any node can go on with it. */
import type { RequestId } from '../protocol/types';
import { Pause } from './pause';
import type { SessionEvent, SharedStreams } from './shared-store';
import type { StreamEvent, StreamLog } from './stream';

/** Events in one command, and their bytes, at most; one goes however long it is. */
const batchLimit = 100;
const batchBytes = 1024 * 1024;

/** Attempts in a row; the client that comes back later finds its stream broken off. */
const maxAttempts = 120;

/** How often the store is told that a call runs of which there is nothing else to tell. */
const keepEveryMs = 15_000;

interface PendingEvent extends SessionEvent {
  readonly bytes: number;
}

export interface ReplyLogOptions {
  readonly streams: SharedStreams;
  readonly id: string;
  readonly streamId: string;
  readonly requestIds: () => RequestId[];
  /** Events waiting for the store, and their bytes; the oldest go first, as they would there, but never the latest. */
  readonly limit: number;
  readonly limitBytes: number;
  /** This node was taken for dead: another has answered, and what this one says is not to be heard. */
  readonly onAbandoned: () => void;
  /** All is told, or given up. */
  readonly onDone: (log: ReplyLog) => void;
}

/** One reply's. Commands follow each other; what comes meanwhile goes with the next. Ends with its stream, or its session. */
export class ReplyLog implements StreamLog {
  readonly #options: ReplyLogOptions;
  readonly #pending: PendingEvent[] = [];
  #pendingBytes = 0;
  #finished = false;
  #over = false;
  #toldAt = Date.now();
  readonly #pause = new Pause();
  #running: Promise<void> | undefined;
  #isKnown = false;
  #settleKnown!: (known: boolean) => void;
  /** Settles when the store knows of the stream, so that any node can resume it; false: it never will. */
  readonly known = new Promise<boolean>((resolve) => (this.#settleKnown = resolve));
  /** The stream is read on another node. */
  taken = false;
  /** It has been read here again after that. */
  takenBack = false;

  constructor(options: ReplyLogOptions) {
    this.#options = options;
    this.#run();
  }

  append({ position, json, bytes }: StreamEvent): void {
    this.#pending.push({ position, json, bytes });
    this.#pendingBytes += bytes;
    const { limit, limitBytes } = this.#options;
    while (this.#pending.length > 1 && (this.#pending.length > limit || this.#pendingBytes > limitBytes))
      this.#pendingBytes -= this.#pending.shift()!.bytes;
    this.#run();
  }

  /** What goes into one command. */
  #take(): PendingEvent[] {
    let count = 0;
    let bytes = 0;
    for (const event of this.#pending) {
      if (count === batchLimit || (count > 0 && bytes + event.bytes > batchBytes)) break;
      count += 1;
      bytes += event.bytes;
    }
    this.#pendingBytes -= bytes;
    return this.#pending.splice(0, count);
  }

  #putBack(events: readonly PendingEvent[]): void {
    this.#pending.unshift(...events);
    for (const { bytes } of events) this.#pendingBytes += bytes;
  }

  finish(): void {
    this.#finished = true;
    this.#run();
  }

  /** The call still runs: what the store has of it is to stay there. */
  keep(now: number): void {
    if (now - this.#toldAt >= keepEveryMs) this.#run();
  }

  /** Give up what is not told yet. */
  end(): void {
    this.#over = true;
    this.#pause.end();
  }

  /** Settles when everything so far is told. */
  get told(): Promise<void> {
    return this.#running ?? Promise.resolve();
  }

  #run(): void {
    if (this.#over) return;
    this.#running ??= this.#tell().finally(() => {
      this.#running = undefined;
      if (this.#over) {
        this.#settleKnown(false);
        this.#options.onDone(this);
      } else if (this.#pending.length > 0 || this.#finished) {
        // It came between the last look and this, and has woken nobody.
        this.#run();
      }
    });
  }

  async #tell(): Promise<void> {
    const { streams, id, streamId, requestIds, onAbandoned } = this.#options;
    // The first event usually comes in the same turn.
    await new Promise(setImmediate);
    for (let attempts = 0; attempts < maxAttempts && !this.#over;) {
      const events = this.#take();
      const finished = this.#finished && this.#pending.length === 0;
      try {
        const reply = await streams.appendReply(id, streamId, { events, requestIds: requestIds(), finished });
        attempts = 0;
        this.#toldAt = Date.now();
        this.#isKnown = reply === 'told';
        this.#settleKnown(this.#isKnown);
        if (reply !== 'told' || finished) this.#over = true;
        if (reply === 'abandoned') onAbandoned();
        if (this.#over || (this.#pending.length === 0 && !this.#finished)) return;
      } catch {
        // The store has said what is wrong with it. What it has got already it will not take twice.
        attempts += 1;
        this.#putBack(events);
        // That the call runs can be told the next time.
        if (this.#isKnown && this.#pending.length === 0 && !this.#finished) return;
        await this.#pause.wait();
      }
    }
    this.#over = true;
  }
}
