/** What all nodes tell each other's clients: each notice once, in one order, none missing. */
import { UnavailableError } from '../protocol/errors';
import { Loop } from './loop';
import type { SharedNotice, SharedStreams } from './shared-store';

/** Notices that wait while the store is away. */
const maxOutbox = 1_000;

export interface NodeNoticesOptions {
  readonly streams: Pick<SharedStreams, 'publish' | 'noticesSince'>;
  /** Hears every notice, those of this node too, in the order of `seq`. */
  readonly deliver: (seq: number, notice: SharedNotice, from: string) => void;
  /** Done before anything is looked up: whom it concerns is known then. */
  readonly prepare: () => Promise<void>;
  /** Some are forgotten that this node has not heard, `lost` the last of them. */
  readonly onLost: (lost: number) => void;
  readonly onError: (error: unknown) => void;
}

/** Owns what waits to be told, bounded, and goes on trying until {@link NodeNotices.end}. */
export class NodeNotices {
  readonly #options: NodeNoticesOptions;
  readonly #outbox: SharedNotice[] = [];
  /** How many have left the outbox: the store takes none twice. */
  #sent = 0;
  readonly #sending: Loop;
  /** The last that was delivered. */
  #lastSeq: number | undefined;
  /** The first that was heard, before anything was looked up. */
  #firstHeard: number | undefined;
  readonly #lookingUp: Loop;

  constructor(options: NodeNoticesOptions) {
    this.#options = options;
    const { onError } = options;
    this.#sending = new Loop(() => this.#send(), { onError, maxAttempts: Infinity });
    this.#lookingUp = new Loop(() => this.#lookUp(), { onError, maxAttempts: Infinity });
  }

  /** Tell all nodes. Waits while the store is away; of one key the latest. */
  publish(notice: SharedNotice): void {
    if (this.#sending.ended) return;
    const { mergeKey } = notice;
    // The first may be on its way.
    if (mergeKey !== undefined && this.#outbox.slice(1).some((other) => other.mergeKey === mergeKey)) return;
    if (this.#outbox.length >= maxOutbox)
      return this.#options.onError(new Error('A notice is lost: too many wait for the session store'));
    this.#outbox.push(notice);
    this.#sending.run();
  }

  /** Settles when all nodes have been told. */
  get told(): Promise<void> {
    return this.#sending.idle;
  }

  async #send(): Promise<void> {
    while (this.#outbox.length > 0 && !this.#sending.ended) {
      try {
        // It may have been told although that failed, and has its number for that.
        await this.#options.streams.publish(this.#outbox[0]!, this.#sent + 1);
      } catch (error) {
        if (error instanceof UnavailableError) throw error;
        // One that cannot be told keeps no other from it.
        this.#options.onError(error);
      }
      this.#sent += 1;
      this.#outbox.shift();
    }
  }

  /** One more, as it happens. Those of between that this node did not hear are looked up. */
  heard(seq: number, notice: SharedNotice, from: string): void {
    const last = this.#lastSeq;
    if (last === undefined) this.#firstHeard ??= seq;
    else if (seq <= last) return;
    if (last === undefined || seq > last + 1 || this.#lookingUp.busy) return void this.catchUp();
    this.#deliver(seq, notice, from);
  }

  /** Messages may have been missed. Settles when none are. */
  catchUp(): Promise<void> {
    this.#lookingUp.run();
    return this.#lookingUp.idle;
  }

  async #lookUp(): Promise<void> {
    const { streams, prepare, onLost } = this.#options;
    await prepare();
    const last = this.#lastSeq;
    const { seq: newest, notices, lost } = await streams.noticesSince(last ?? 0);
    if (this.#lookingUp.ended) return;
    if (last !== undefined && newest < last) {
      // The store has forgotten the latest: what it says from now on is new.
      this.#lastSeq = 0;
      return this.#lookingUp.run();
    }
    if (last !== undefined && lost > last) onLost(lost);
    for (const { seq, notice, from } of notices) {
      // Of what was said before this node began, only the changes: to hear of one twice does no harm.
      if (last === undefined && notice.mergeKey === undefined && seq < (this.#firstHeard ?? Infinity)) continue;
      this.#deliver(seq, notice, from);
    }
    this.#lastSeq = newest;
  }

  /** Whoever fails to hear one hears the next. */
  #deliver(seq: number, notice: SharedNotice, from: string): void {
    this.#lastSeq = seq;
    try {
      this.#options.deliver(seq, notice, from);
    } catch (error) {
      this.#options.onError(error);
    }
  }

  /** What is not told by now is not told by this node. */
  end(): void {
    this.#sending.end();
    this.#lookingUp.end();
    this.#outbox.length = 0;
  }
}
