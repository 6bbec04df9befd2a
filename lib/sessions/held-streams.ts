/** Streams of shared sessions that are read on this node: copies of what the store has, kept up with it. */
import { nanoid } from 'nanoid';
import { Loop } from './loop';
import { standaloneStreamId } from './session';
import type { Session } from './session';
import type { HeldStream, SharedStreams } from './shared-store';
import { Stream } from './stream';
import type { StreamLimits, StreamLog } from './stream';

export interface HeldOptions {
  readonly streams: SharedStreams;
  readonly session: Session;
  readonly limits: StreamLimits;
  /** The client does not take what waits. */
  readonly onFull: () => void;
  /** Nothing is to be held any more: it was taken, or the session has ended. */
  readonly onGone: (why: 'ended' | 'taken') => void;
  readonly onError: (error: unknown) => void;
}

/** The rest of a reply whose call runs on another node, until all of it is here. */
export class HeldReply {
  readonly stream: Stream;
  #read: number;
  #letGoAt: number | undefined;
  readonly #loop: Loop;

  constructor(
    readonly options: HeldOptions & { readonly onFinished: () => void },
    readonly streamId: string,
    readonly owner: string | undefined,
    position: number,
  ) {
    this.#read = position;
    this.stream = new Stream(options.limits, position);
    this.#loop = new Loop(() => this.#step(), options);
    this.#loop.run();
  }

  wake(): void {
    this.#loop.run();
  }

  /** Close the connection after the message at `position`; the client comes back for the rest. */
  letGo(position: number): void {
    this.#letGoAt = position;
    this.#loop.run();
  }

  end(): void {
    this.#loop.end();
    this.stream.leave();
  }

  async #step(): Promise<void> {
    const { streams, session, onFull, onGone, onFinished } = this.options;
    const { events, finished, isHeld } = await streams.read(session.record.id, this.streamId, this.#read);
    if (this.#loop.ended) return;
    if (!isHeld) return onGone('taken');
    for (const event of events) {
      if (!this.stream.put(event)) return onFull();
      this.#read = event.position;
    }
    if (this.#letGoAt !== undefined && this.#read >= this.#letGoAt) {
      this.#letGoAt = undefined;
      this.stream.close();
    }
    if (events.length > 0) return this.#loop.run();
    if (!finished) return;
    this.#loop.end();
    this.stream.finish();
    onFinished();
  }
}

interface Waiting {
  readonly seq: number;
  readonly json: string;
  readonly mergeKey: string | undefined;
}

/** A session's own stream: this node appends what the server says to all, and writes what anybody has appended. */
export class HeldOwn implements StreamLog {
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
    const own = { events: batch, writer: this.#writer, before: this.#appended };
    const events = await streams.appendOwn(session.record.id, own, this.#read, written);
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
