/** Streams of shared sessions that are read on this node: copies of what the store has, kept up with it. */
import { nanoid } from 'nanoid';
import { Pause } from './pause';
import type { Session } from './session';
import type { SharedStreams } from './shared-store';
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
}

/** One thing at a time; what is asked for meanwhile is done once more after it. Tries again while the store is away. */
class Loop {
  #running = false;
  #again = false;
  #ended = false;
  readonly #pause = new Pause();
  constructor(readonly step: () => Promise<void>) {}

  run(): void {
    this.#again = true;
    if (this.#running || this.#ended) return;
    this.#running = true;
    void this.#go().finally(() => {
      this.#running = false;
      // What came between the last look and this has woken nobody.
      if (this.#again) this.run();
    });
  }

  async #go(): Promise<void> {
    while (this.#again && !this.#ended) {
      this.#again = false;
      try {
        await this.step();
      } catch {
        // The store has said what is wrong with it.
        this.#again = true;
        await this.#pause.wait();
      }
    }
  }

  end(): void {
    this.#ended = true;
    this.#pause.end();
  }
}

/** The rest of a reply whose call runs on another node. */
export class HeldReply {
  stream: Stream;
  finished = false;
  #read: number;
  #letGoAt: number | undefined;
  readonly #loop = new Loop(() => this.#step());

  constructor(
    readonly options: HeldOptions,
    readonly streamId: string,
    readonly owner: string | undefined,
    position: number,
  ) {
    this.#read = position;
    this.stream = new Stream(options.limits, position);
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
    this.stream.close();
  }

  async #step(): Promise<void> {
    const { streams, session, onFull } = this.options;
    const { events, finished } = await streams.read(session.record.id, this.streamId, this.#read);
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
    this.finished = true;
    this.#loop.end();
    this.stream.finish();
    session.streamFinished(this.streamId, Date.now());
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
  /** Where its copy begins. */
  start: number;
  #read: number;
  #written = 0;
  readonly #pending: Waiting[] = [];
  readonly #writer = nanoid(8);
  #appended = 0;
  /** Heard while the notices before them are still being looked up. */
  #early: Waiting[] | undefined = [];
  readonly #loop = new Loop(() => this.#step());

  constructor(readonly options: HeldOptions) {
    this.start = this.#read = 0;
    this.stream = this.#open(0);
  }

  #open(position: number): Stream {
    this.start = this.#read = position;
    const stream = new Stream(this.options.limits, position);
    stream.log = this;
    return stream;
  }

  /** Begin the copy after `position`. */
  restart(position: number): void {
    const previous = this.stream;
    this.stream = this.#open(position);
    previous.close();
    this.#loop.run();
  }

  /** What was said before this node held the stream is in; on with what was heard meanwhile. */
  caughtUp(missed: readonly Waiting[]): void {
    const known = new Set(missed.map(({ seq }) => seq));
    const early = (this.#early ?? []).filter(({ seq }) => seq === 0 || !known.has(seq));
    this.#early = undefined;
    // Without a number it was said to this session alone, and waits for nothing.
    for (const waiting of [...missed, ...early].sort((a, b) => (a.seq || Infinity) - (b.seq || Infinity) || 0))
      this.say(waiting);
    this.#loop.run();
  }

  say(waiting: Waiting): void {
    const { mergeKey } = waiting;
    if (this.#early !== undefined) return void this.#early.push(waiting);
    if (mergeKey !== undefined) {
      // It will learn of both at once.
      if (this.stream.hasWaiting(mergeKey) || this.#pending.some((other) => other.mergeKey === mergeKey)) return;
    }
    if (this.#pending.length >= this.options.limits.waitingLimit) return this.options.onFull();
    this.#pending.push(waiting);
    this.#loop.run();
  }

  wake(): void {
    this.#loop.run();
  }

  detached(): void {
    if (this.stream.position !== this.#written) this.#loop.run();
  }

  end(): void {
    this.#loop.end();
    this.stream.close();
  }

  async #step(): Promise<void> {
    const { streams, session, onGone, onFull } = this.options;
    if (this.#early !== undefined) return;
    const { stream } = this;
    const batch = this.#pending.slice(0, 100);
    const written = stream.position;
    const own = { events: batch, writer: this.#writer, before: this.#appended };
    const events = await streams.appendOwn(session.record.id, own, this.#read, written);
    if (typeof events === 'string') return onGone(events);
    this.#pending.splice(0, batch.length);
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
