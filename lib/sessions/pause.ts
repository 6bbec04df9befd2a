/** The wait between attempts while a store is away; called off with whatever tries. */

/** A quarter more or less, so that nodes do not all try at once. */
const retryMs = 500;

/** One wait at a time; none after {@link Pause.end}. */
export class Pause {
  #goOn: (() => void) | undefined;
  #ended = false;

  async wait(): Promise<void> {
    if (this.#ended) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, retryMs * (0.75 + Math.random() / 2)).unref();
      this.#goOn = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  end(): void {
    this.#ended = true;
    this.#goOn?.();
  }
}
