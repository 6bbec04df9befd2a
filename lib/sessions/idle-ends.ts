/** Sessions of a shared store that have ended by being idle: told by whichever node is first, whoever opened them. */
import { Loop } from './loop';
import type { SharedPart } from './shared-store';

/** Ends are looked for at least so often. */
const maxIntervalMs = 10_000;

/** What is told at once, in batches of the store; then other work has its turn. */
const maxBatches = 50;

export interface IdleEndsOptions {
  readonly shared: Pick<SharedPart, 'endIdle'>;
  readonly idleMs: number;
  readonly onEnd: (record: { id: string; principal: string | undefined }) => void;
  readonly onError: (error: unknown) => void;
}

/** Owns a timer; ends with {@link IdleEnds.end}. */
export class IdleEnds {
  readonly #options: IdleEndsOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #loop: Loop;

  constructor(options: IdleEndsOptions) {
    this.#options = options;
    // Where it fails, the next time will do.
    this.#loop = new Loop(() => this.#look(), { onError: options.onError, maxAttempts: 1 });
    const everyMs = Math.max(20, Math.min(maxIntervalMs, options.idleMs / 4));
    this.#timer = setInterval(() => {
      if (!this.#loop.busy) this.#loop.run();
    }, everyMs).unref();
  }

  async #look(): Promise<void> {
    for (let batches = 0; batches < maxBatches && !this.#loop.ended; batches += 1) {
      const { ended, more } = await this.#options.shared.endIdle();
      for (const record of ended) this.#options.onEnd(record);
      if (!more) return;
    }
  }

  end(): void {
    this.#loop.end();
    clearInterval(this.#timer);
  }
}
