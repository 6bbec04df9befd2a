/** Places that callers take and leave: so many in all, and so many for each principal. */
import type { ParkedCalls } from '../caller';

/** Counts by principal, and in all, against two caps. Entries leave with their last place. */
export class Places implements ParkedCalls {
  readonly #perPrincipal = new Map<string, number>();
  #total = 0;

  constructor(
    readonly limit: number,
    readonly limitPerPrincipal: number,
  ) {}

  get total(): number {
    return this.#total;
  }

  of(principal: string | undefined): number {
    return principal === undefined ? 0 : (this.#perPrincipal.get(principal) ?? 0);
  }

  enter(principal: string | undefined): boolean {
    if (this.#total >= this.limit || this.of(principal) >= this.limitPerPrincipal) return false;
    this.#total += 1;
    // Nobody in particular has no cap of their own.
    if (principal !== undefined) this.#perPrincipal.set(principal, this.of(principal) + 1);
    return true;
  }

  leave(principal: string | undefined): void {
    this.#total -= 1;
    if (principal === undefined) return;
    const left = this.of(principal) - 1;
    if (left === 0) this.#perPrincipal.delete(principal);
    else this.#perPrincipal.set(principal, left);
  }
}
