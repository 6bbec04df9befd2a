/** What a mount has open, and its clock. */
import type { MountOptions } from './options';
import type { SseSink } from './sse';

/** A reply or a stream: looked at on every tick, and ended when the mount closes. */
export interface Open {
  /** Its place in the list of what is open; the mount's own. */
  place?: number;
  tick(now: number): void;
  /** The mount closes: what only listens ends now, in the way that tells the client most. */
  shutdown(): void;
  /** The grace is over: end with an error, whatever runs. */
  abort(): void;
}

/** Looks after replies and streams. Its timer runs only while there is something to look after. */
export class Watch {
  readonly #open: Open[] = [];
  /** The streams whose sockets are still there. */
  readonly #streams = new Set<SseSink>();
  readonly #tickMs: number;
  /** Does what else there is to do. @returns Whether the clock is needed on. */
  readonly #alsoOnTick: (now: number) => boolean;
  #timer: NodeJS.Timeout | undefined;
  #onQuiet: (() => void) | undefined;

  constructor({ keepAliveMs, sessionIdleMs }: MountOptions, alsoOnTick: (now: number) => boolean) {
    // Often enough for either, never more than fifty times a second.
    this.#tickMs = Math.max(20, Math.min(1_000, keepAliveMs / 4, sessionIdleMs / 4));
    this.#alsoOnTick = alsoOnTick;
  }

  /** Streams whose sockets are still there. */
  get streams(): number {
    return this.#streams.size;
  }

  /** Look after `open` on every tick until {@link Watch.remove}. */
  add(open: Open): void {
    open.place = this.#open.push(open) - 1;
    this.start();
  }

  remove(open: Open): void {
    const last = this.#open.at(-1);
    if (open.place === undefined || last === undefined) return;
    // The last one moves up.
    this.#open[open.place] = last;
    last.place = open.place;
    this.#open.pop();
    open.place = undefined;
    if (this.#isQuiet) this.#onQuiet?.();
  }

  addStream(stream: SseSink): void {
    this.#streams.add(stream);
    this.start();
  }

  streamGone(stream: SseSink): void {
    this.#streams.delete(stream);
    if (this.#isQuiet) this.#onQuiet?.();
  }

  get #isQuiet(): boolean {
    return this.#open.length === 0 && this.#streams.size === 0;
  }

  /** Run the clock; it stops by itself. */
  start(): void {
    this.#timer ??= setInterval(() => this.#tick(), this.#tickMs).unref();
  }

  #tick(): void {
    const now = Date.now();
    // Backwards: whatever moves up meanwhile has had its turn.
    for (let at = this.#open.length - 1; at >= 0; at -= 1) this.#open[at]?.tick(now);
    for (const stream of this.#streams) stream.tick(now);
    const isNeeded = this.#alsoOnTick(now);
    if (this.#isQuiet && !isNeeded) this.#stop();
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** What only listens ends now, what runs may finish within the grace, then all is ended. @param last Done before sockets are cut. */
  async end(graceMs: number, last: () => Promise<void>): Promise<void> {
    for (const open of [...this.#open]) open.shutdown();
    if (!this.#isQuiet) await this.#quiet(graceMs);
    for (const open of [...this.#open]) open.abort();
    await last();
    for (const stream of this.#streams) stream.cut();
    this.#stop();
  }

  /** Until nothing runs and nothing waits to be read, or the time is over. */
  async #quiet(limitMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      timer = setTimeout(resolve, limitMs);
      this.#onQuiet = resolve;
    });
    clearTimeout(timer);
    this.#onQuiet = undefined;
  }
}
