/** A reply of another node that is read here: a copy of what the store has, kept up with it. */
import type { HeldOptions } from './held-options';
import { Loop } from './loop';
import { Stream } from './stream';

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
