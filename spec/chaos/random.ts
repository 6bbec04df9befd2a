/** Chance from a seed: the same disturbances in every run, unless somebody asks for others. */

export interface Random {
  /** From 0 up to, not including, 1. */
  next(): number;
  chance(share: number): boolean;
  between(low: number, high: number): number;
  pick<T>(all: readonly T[]): T;
  shuffle<T>(all: readonly T[]): T[];
}

/** Mulberry32: small, and good enough for who is killed next. */
export function createRandom(seed: number): Random {
  let state = seed | 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    chance: (share) => next() < share,
    between: (low, high) => Math.floor(low + next() * (high - low)),
    pick: (all) => all[Math.floor(next() * all.length)]!,
    shuffle(all) {
      const rest = [...all];
      return Array.from({ length: rest.length }, () => rest.splice(Math.floor(next() * rest.length), 1)[0]!);
    },
  };
}
