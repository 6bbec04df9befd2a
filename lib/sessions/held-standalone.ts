/** A session's standalone stream that is read here: a copy of what the store has, kept up with it, and added to. */
import { nanoid } from 'nanoid';
import type { HeldOptions } from './held-options';
import { Loop } from './loop';
import { standaloneStreamId } from './session';
import type { HeldStream } from './shared-store';
import { Stream } from './stream';
import type { StreamLog } from './stream';

interface Waiting {
  readonly seq: number;
  readonly json: string;
  readonly mergeKey: string | undefined;
}

/** This node appends what the server says to all, and writes what anybody has appended. */
export class HeldStandalone implements StreamLog {
  stream: Stream;
  /** Where its copy begins, once that is known. */
  #start: number | undefined;
  /** The last notice that was looked up for this stream alone. */
  caughtUpTo = Infinity;
  /** How often this node has asked to hold it: what was found out before the last time is nothing to go by. */
  #asked = 0;
  /** Requests to hold it that have not been answered. */
  #opening = 0;
  #read: number;
  #written = 0;
  readonly #pending: Waiting[] = [];
  /** Bytes of what is pending or early. */
  #waitingBytes = 0;
  readonly #writer = nanoid(8);
  #appended = 0;
  /** Heard while the notices before them are still being looked up. */
  #early: Waiting[] | undefined = [];
  readonly #loop: Loop;

  constructor(readonly options: HeldOptions) {
    this.#read = 0;
    this.stream = this.#open(0);
    this.#loop = new Loop(() => this.#step(), options);
  }

  /** Nobody reads it here, and nobody is about to. */
  get isUnused(): boolean {
    return this.#start === undefined && this.#opening === 0;
  }

  /** Hold it from now on, on this node. @returns Undefined if there is no such stream, or it has not got as far as `after`. */
  async hold(after: number): Promise<HeldStream | undefined> {
    const { streams, session } = this.options;
    this.#asked += 1;
    this.#opening += 1;
    try {
      const held = await streams.hold(session.record.id, standaloneStreamId, after);
      return held !== undefined && 'last' in held ? held : undefined;
    } finally {
      this.#opening -= 1;
    }
  }

  /**
   * Have what comes after `after` in the copy.
   *
   * @param written Where the client is thought to be, if it does not say.
   * @returns True the first time: then what was said before is still to be looked up.
   */
  begin(after: number | undefined, written: number): boolean {
    const start = this.#start;
    // Another node may have held it meanwhile, and gone further.
    const isUsable =
      start !== undefined &&
      (after === undefined ? written <= this.stream.position : after >= start && this.stream.reaches(after));
    if (!isUsable) this.#restart(after ?? written);
    return start === undefined;
  }

  #open(position: number): Stream {
    this.#read = position;
    const stream = new Stream(this.options.limits, position);
    stream.log = this;
    return stream;
  }

  #restart(position: number): void {
    const previous = this.stream;
    this.#start = position;
    this.stream = this.#open(position);
    previous.leave();
    this.#loop.run();
  }

  /** What was said before this node held the stream is in, up to `newest`; on with what was heard meanwhile. */
  caughtUp(missed: readonly Waiting[], newest: number): void {
    this.caughtUpTo = newest;
    const known = new Set(missed.map(({ seq }) => seq));
    const early = (this.#early ?? []).filter(({ seq }) => seq === 0 || !known.has(seq));
    this.#early = undefined;
    this.#waitingBytes = 0;
    // Without a number it was said to this session alone, and waits for nothing.
    for (const waiting of [...missed, ...early].sort((a, b) => (a.seq || Infinity) - (b.seq || Infinity) || 0))
      this.say(waiting);
    this.#loop.run();
  }

  say(waiting: Waiting): void {
    const { mergeKey } = waiting;
    const { waitingLimit, waitingBytes } = this.options.limits;
    const bytes = Buffer.byteLength(waiting.json);
    const queue = this.#early ?? this.#pending;
    if (queue === this.#pending && mergeKey !== undefined) {
      // It will learn of both at once.
      if (this.stream.hasWaiting(mergeKey) || this.#pending.some((other) => other.mergeKey === mergeKey)) return;
    }
    // One alone does not wait for others.
    if (queue.length >= waitingLimit || (queue.length > 0 && this.#waitingBytes + bytes > waitingBytes))
      return this.options.onFull();
    queue.push(waiting);
    this.#waitingBytes += bytes;
    this.#loop.run();
  }

  wake(): void {
    this.#loop.run();
  }

  detached(): void {
    if (this.stream.position !== this.#written) this.#loop.run();
  }

  /** @returns What was for this session alone, and has got nowhere. */
  end(): string[] {
    this.#loop.end();
    this.stream.leave();
    const left = [...this.#pending.splice(0), ...(this.#early?.splice(0) ?? [])];
    return left.filter(({ seq }) => seq === 0).map(({ json }) => json);
  }

  async #step(): Promise<void> {
    const { streams, session, onGone, onFull } = this.options;
    if (this.#early !== undefined) return;
    const { stream } = this;
    const asked = this.#asked;
    const batch = this.#pending.slice(0, 100);
    const written = stream.position;
    const added = { events: batch, writer: this.#writer, before: this.#appended };
    const events = await streams.appendStandalone(session.record.id, added, this.#read, written);
    if (this.#loop.ended) return;
    // Perhaps this node holds it again by now.
    if (events === 'taken' && asked !== this.#asked) return this.#loop.run();
    if (typeof events === 'string') return onGone(events);
    for (const { json } of this.#pending.splice(0, batch.length)) this.#waitingBytes -= Buffer.byteLength(json);
    this.#appended += batch.length;
    this.#written = written;
    // Begun anew meanwhile: the new copy reads for itself.
    if (stream !== this.stream) return this.#loop.run();
    for (const event of events) {
      if (!stream.put(event)) return onFull();
      this.#read = event.position;
    }
    if (this.#pending.length > 0 || stream.position !== this.#written) this.#loop.run();
  }
}
