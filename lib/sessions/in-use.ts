/** Which sessions of a shared store are in use: it is told now and then, by one node for all. */
import type { Session } from './session';
import type { SharedPart } from './shared-store';

/** How often a session in use is reported, at most, by all nodes together. */
const reportIntervalMs = 30_000;

/** A report that has failed is not tried again sooner. */
const retryMs = 5_000;

export interface InUseOptions {
  readonly shared: Pick<SharedPart, 'touch'>;
  readonly idleMs: number;
  /** The store knows it no more. */
  readonly onExpired: (session: Session) => void;
}

/** Holds nothing but when sessions were last reported; that goes with them. */
export class InUse {
  readonly #options: InUseOptions;
  readonly #reportedAt = new WeakMap<Session, number>();
  readonly intervalMs: number;

  constructor(options: InUseOptions) {
    this.#options = options;
    this.intervalMs = Math.min(reportIntervalMs, options.idleMs / 4);
  }

  /** The store knows already. */
  isKnown(session: Session, now: number): void {
    this.#reportedAt.set(session, now);
  }

  /** Report a session, unless that was done lately, here or on another node. */
  touch(session: Session, now: number): void {
    const reportedAt = [this.#reportedAt.get(session), session.record.reportedAt];
    // A time to come is of a clock that is not to be trusted.
    if (reportedAt.some((at = NaN) => at <= now && now - at < this.intervalMs)) return;
    this.#report(session, now);
  }

  /** What was reported may be lost. */
  again(session: Session, now: number): void {
    this.#reportedAt.delete(session);
    if (!session.isIdle) this.#report(session, now);
  }

  /** Without waiting: it is the next request that needs to know. */
  #report(session: Session, now: number): void {
    this.#reportedAt.set(session, now);
    this.#options.shared.touch(session.record).then(
      (alive) => {
        if (!alive) this.#options.onExpired(session);
      },
      // The store has said what is wrong; a request or sweep tries again, in a while.
      () => this.#reportedAt.set(session, now - this.intervalMs + Math.min(retryMs, this.intervalMs)),
    );
  }
}
