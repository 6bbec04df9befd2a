/** What goes wrong between a node and its store, told to whoever can do something about it. */
import { UnavailableError } from '../protocol/errors';

/** A store that is away has said so itself. Anything else is reported: once, until it works again. */
export class Failures {
  #reported = false;
  constructor(readonly onError: (error: unknown) => void) {}

  note(error: unknown): void {
    if (this.#reported || error instanceof UnavailableError) return;
    this.#reported = true;
    this.onError(error);
  }

  /** It works. */
  clear(): void {
    this.#reported = false;
  }
}
