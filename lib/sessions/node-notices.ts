/** What all nodes tell each other's clients: each notice once, in one order, none missing. */
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

/** Owns what waits to be told, bounded; nothing of it has an end but the process's. */
export class NodeNotices {
  readonly #options: NodeNoticesOptions;
  readonly #outbox: SharedNotice[] = [];
  /** How many have left the outbox: the store takes none twice. */
  #told = 0;
  #sending = false;
  /** The last that was delivered. */
  #lastSeq: number | undefined;
  /** The first that was heard, before anything was looked up. */
  #firstHeard: number | undefined;
  #catchingUp = false;
  #again = false;
  #behind = true;

  constructor(options: NodeNoticesOptions) {
    this.#options = options;
  }

  /** Tell all nodes. Waits while the store is away; of one key the latest. */
  publish(notice: SharedNotice): void {
    const { mergeKey } = notice;
    // The first may be on its way.
    if (mergeKey !== undefined && this.#outbox.slice(1).some((other) => other.mergeKey === mergeKey)) return;
    if (this.#outbox.length >= maxOutbox)
      return this.#options.onError(new Error('A notice is lost: too many wait for the session store'));
    this.#outbox.push(notice);
    if (!this.#sending) void this.#send();
  }

  async #send(): Promise<void> {
    this.#sending = true;
    while (this.#outbox.length > 0) {
      try {
        await this.#options.streams.publish(this.#outbox[0]!, this.#told + 1);
        this.#told += 1;
        this.#outbox.shift();
      } catch {
        // The next beat tries again. It may have been told all the same, and has its number for that.
        break;
      }
    }
    this.#sending = false;
  }

  /** One more, as it happens. Those of between that this node did not hear are looked up. */
  heard(seq: number, notice: SharedNotice, from: string): void {
    const last = this.#lastSeq;
    if (last === undefined) this.#firstHeard ??= seq;
    else if (seq <= last) return;
    if (this.#catchingUp || this.#behind || last === undefined || seq > last + 1) return void this.catchUp();
    this.#lastSeq = seq;
    this.#options.deliver(seq, notice, from);
  }

  /** Messages may have been missed. */
  async catchUp(): Promise<void> {
    this.#again = true;
    if (this.#catchingUp) return;
    this.#catchingUp = true;
    try {
      while (this.#again) {
        this.#again = false;
        this.#behind = true;
        await this.#lookUp();
        this.#behind = false;
      }
    } catch {
      // The store has said what is wrong with it; the next beat tries again.
    } finally {
      this.#catchingUp = false;
    }
  }

  async #lookUp(): Promise<void> {
    const { streams, deliver, prepare, onLost } = this.#options;
    await prepare();
    const last = this.#lastSeq;
    const { seq: newest, notices, lost } = await streams.noticesSince(last ?? 0);
    if (last !== undefined && newest < last) {
      // It was emptied, and counts from the start again.
      this.#lastSeq = 0;
      this.#again = true;
      return;
    }
    this.#lastSeq = newest;
    if (last !== undefined && lost > last) onLost(lost);
    for (const { seq, notice, from } of notices) {
      // Of what was said before this node began, only the changes: to hear of one twice does no harm.
      if (last === undefined && notice.mergeKey === undefined && seq < (this.#firstHeard ?? Infinity)) continue;
      deliver(seq, notice, from);
    }
  }

  /** Try again what the store had no time for. */
  beat(): void {
    if (!this.#sending && this.#outbox.length > 0) void this.#send();
    if (this.#behind) void this.catchUp();
  }
}
