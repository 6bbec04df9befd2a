/** Sessions of a shared store that have ended by being idle: told by whichever node is first, whoever opened them. */
import type { SharedPart } from './shared-store';

/** Ends are looked for at least so often. */
const maxIntervalMs = 10_000;

/** What is told at once, in batches of the store; then other work has its turn. */
const maxBatches = 50;

export interface IdleEndsOptions {
  readonly shared: Pick<SharedPart, 'endIdle'>;
  readonly idleMs: number;
  readonly onEnd: (record: { id: string; principal: string | undefined }) => void;
}

/** Owns a timer; ends with {@link IdleEnds.end}. */
export class IdleEnds {
  readonly #options: IdleEndsOptions;
  readonly #timer: NodeJS.Timeout;
  #looking = false;
  #ended = false;

  constructor(options: IdleEndsOptions) {
    this.#options = options;
    const everyMs = Math.max(20, Math.min(maxIntervalMs, options.idleMs / 4));
    this.#timer = setInterval(() => void this.#look(), everyMs).unref();
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      for (let batches = 0; batches < maxBatches && !this.#ended; batches += 1) {
        const { ended, more } = await this.#options.shared.endIdle();
        for (const record of ended) this.#options.onEnd(record);
        if (!more) break;
      }
    } catch {
      // The store has said what is wrong with it; the next time will do.
    } finally {
      this.#looking = false;
    }
  }

  end(): void {
    this.#ended = true;
    clearInterval(this.#timer);
  }
}
