/** Work that is done again whenever somebody asks for it, with a store that can be away. */
import { Pause } from './pause';

/** Attempts in a row, for about a minute; then whoever knows that the store is back has to say so. */
const maxAttempts = 120;

/**
 * One thing at a time; what is asked for meanwhile is done once more after it. Tries again while the store is away, for a
 * while each time that it is run.
 */
export class Loop {
  #running = false;
  #again = false;
  #ended = false;
  #attempts = 0;
  readonly #pause = new Pause();
  constructor(readonly step: () => Promise<void>) {}

  get ended(): boolean {
    return this.#ended;
  }

  run(): void {
    this.#again = true;
    this.#attempts = 0;
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
        this.#attempts = 0;
      } catch {
        // The store has said what is wrong with it.
        this.#attempts += 1;
        if (this.#attempts >= maxAttempts) return;
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
