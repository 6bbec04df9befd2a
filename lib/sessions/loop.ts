/** Work that is done again whenever somebody asks for it, with a store that can be away. */
import { Failures } from './failures';

/** Between attempts; a quarter more or less, so that nodes do not all try at once. */
const retryMs = 500;

export interface LoopOptions {
  /** Hears what is wrong, unless that is a store that is away. */
  readonly onError: (error: unknown) => void;
  /** In a row, since it was last asked for. @default 120, for about a minute */
  readonly maxAttempts?: number;
  /** It is not tried any more, until somebody asks for it again. */
  readonly onGivenUp?: () => void;
}

/** One thing at a time; what is asked for meanwhile is done once more after it. Tries again while the store is away. */
export class Loop {
  #state: 'idle' | 'running' | 'again' | 'ended' = 'idle';
  #turning = Promise.resolve();
  #attempts = 0;
  #wake: (() => void) | undefined;
  readonly #failures: Failures;

  constructor(
    readonly step: () => Promise<void>,
    readonly options: LoopOptions,
  ) {
    this.#failures = new Failures(options.onError);
  }

  get busy(): boolean {
    return this.#state === 'running' || this.#state === 'again';
  }

  get ended(): boolean {
    return this.#state === 'ended';
  }

  /** Settles when nothing is left to do, or nothing is tried any more. */
  get idle(): Promise<void> {
    return this.#turning;
  }

  run(): void {
    this.#attempts = 0;
    if (this.#state === 'running') this.#state = 'again';
    if (this.#state !== 'idle') return;
    this.#state = 'again';
    this.#turning = this.#turn();
  }

  async #turn(): Promise<void> {
    while (this.#state === 'again') {
      this.#state = 'running';
      try {
        await this.step();
        this.#attempts = 0;
        this.#failures.clear();
      } catch (error) {
        this.#failures.note(error);
        if (!this.ended) await this.#pause();
      }
    }
    if (this.#state === 'running') this.#state = 'idle';
  }

  /** Until the next attempt, if there is one. */
  async #pause(): Promise<void> {
    const { maxAttempts = 120, onGivenUp } = this.options;
    this.#attempts += 1;
    if (this.#attempts >= maxAttempts) return onGivenUp?.();
    this.#state = 'again';
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, retryMs * (0.75 + Math.random() / 2)).unref();
      this.#wake = () => (clearTimeout(timer), resolve());
    });
  }

  end(): void {
    this.#state = 'ended';
    this.#wake?.();
  }
}
