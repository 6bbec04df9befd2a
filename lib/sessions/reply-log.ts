/** Tells the store what a reply's stream carries, so that any node can go on with it. */
import { UnavailableError } from '../protocol/errors';
import type { RequestId } from '../protocol/types';
import { Loop } from './loop';
import type { SessionEvent, SharedStreams } from './shared-store';
import type { StreamEvent, StreamLog } from './stream';

/** Events in one command, and their bytes, at most; one goes however long it is. */
const batchLimit = 100;
const batchBytes = 1024 * 1024;

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
  readonly onError: (error: unknown) => void;
}

/** One reply's. Commands follow each other; what comes meanwhile goes with the next. Ends with its stream, or its session. */
export class ReplyLog implements StreamLog {
  readonly #options: ReplyLogOptions;
  readonly #pending: PendingEvent[] = [];
  #pendingBytes = 0;
  #finished = false;
  /** The store is to hear that the call runs, even if there is nothing else to tell. */
  #isDue = true;
  #toldAt = Date.now();
  #isKnown = false;
  #settleKnown!: (known: boolean) => void;
  /** Settles when the store knows of the stream, so that any node can resume it; false: it never will. */
  readonly known = new Promise<boolean>((resolve) => (this.#settleKnown = resolve));
  /** The stream is read on another node. */
  taken = false;
  /** It has been read here again after that. */
  takenBack = false;
  readonly #loop: Loop;

  constructor(options: ReplyLogOptions) {
    this.#options = options;
    // Given up, the client that comes back later finds its stream broken off.
    this.#loop = new Loop(() => this.#tell(), { onError: options.onError, onGivenUp: () => this.end() });
    this.#loop.run();
  }

  append({ position, json, bytes }: StreamEvent): void {
    this.#pending.push({ position, json, bytes });
    this.#pendingBytes += bytes;
    const { limit, limitBytes } = this.#options;
    while (this.#pending.length > 1 && (this.#pending.length > limit || this.#pendingBytes > limitBytes))
      this.#pendingBytes -= this.#pending.shift()!.bytes;
    this.#loop.run();
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
    this.#loop.run();
  }

  /** The call still runs: what the store has of it is to stay there. */
  keep(now: number): void {
    if (now - this.#toldAt < keepEveryMs) return;
    this.#isDue = true;
    this.#loop.run();
  }

  /** Give up what is not told yet. */
  end(): void {
    if (this.#loop.ended) return;
    this.#loop.end();
    this.#settleKnown(false);
    this.#options.onDone(this);
  }

  /** Settles when everything so far is told. */
  get told(): Promise<void> {
    return this.#loop.idle;
  }

  async #tell(): Promise<void> {
    const { streams, id, streamId, requestIds, onAbandoned } = this.#options;
    // The first event usually comes in the same turn.
    await new Promise(setImmediate);
    if (this.#loop.ended || !(this.#isDue || this.#finished || this.#pending.length > 0)) return;
    const events = this.#take();
    const finished = this.#finished && this.#pending.length === 0;
    let reply;
    try {
      reply = await streams.appendReply(id, streamId, { events, requestIds: requestIds(), finished });
    } catch (error) {
      // What the store has got already it will not take twice.
      this.#putBack(events);
      // That the call runs can be told the next time.
      const canWait = this.#isKnown && !this.#finished && this.#pending.length === 0;
      if (canWait && error instanceof UnavailableError) return;
      throw error;
    }
    this.#toldAt = Date.now();
    this.#isDue = false;
    this.#isKnown = reply === 'told';
    this.#settleKnown(this.#isKnown);
    if (reply === 'abandoned') onAbandoned();
    if (reply !== 'told' || finished) this.end();
    else if (this.#finished || this.#pending.length > 0) this.#loop.run();
  }
}
