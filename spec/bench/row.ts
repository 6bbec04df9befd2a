/** What a row of the table is, how much work it may do, and the arithmetic they share. */
import type { Contender } from './contenders';

/** How much is done. Every row is bounded by these. */
export interface Budget {
  /** Interleaved rounds of a comparison, each of both servers. */
  readonly rounds: number;
  /** Length of one server's part of a round. */
  readonly roundMs: number;
  /** Requests that each server answers before anything is measured, so that its code is compiled, */
  readonly warmUp: number;
  /** for at most so long. */
  readonly warmMs: number;
  /** How often a row that needs fresh processes is measured. */
  readonly repeats: number;
  /** Live sessions where they are many. */
  readonly sessions: number;
  /** Calls whose memory is looked for. */
  readonly calls: number;
  /** Starts of a process, of each server. */
  readonly starts: number;
}

export const full: Budget = {
  rounds: 15,
  roundMs: 600,
  warmUp: 20_000,
  warmMs: 6_000,
  repeats: 3,
  sessions: 10_000,
  calls: 100_000,
  starts: 21,
};

/** For a glance, and for CI: a few minutes, on a machine with nothing else to do. */
export const quick: Budget = {
  rounds: 5,
  roundMs: 250,
  // With less, rows differ by how many contenders share a server.
  warmUp: 6_000,
  warmMs: 5_000,
  repeats: 1,
  sessions: 2_000,
  calls: 30_000,
  starts: 3,
};

/** Thrown by what cannot be measured on this machine; no failure. */
export class Skipped extends Error {
  override readonly name = 'Skipped';
}

export interface Measurement {
  readonly value: number;
  /** Quartiles of the single rounds. */
  readonly spread: readonly [low: number, high: number];
  /** What was compared, in numbers of its own. */
  readonly detail: string;
}

export interface Row {
  /** What `npm run bench -- <id>` calls it. */
  readonly id: string;
  /** What is measured. */
  readonly measure: string;
  /** What it is set against. */
  readonly against: string;
  readonly unit: 'times' | 'bytes' | 'commands';
  /** At most this. Without one, the row is there to be seen. */
  readonly goal?: number | undefined;
  /** How it is found: by a procedure of its own, or as the ratio of two contenders. */
  readonly method: ((budget: Budget) => Promise<Measurement>) | readonly [subject: Contender, baseline: Contender];
}

export type Verdict = 'met' | 'missed' | 'failed' | '';

/** Missed by no more than half is the noise that a shared machine may make; so is what only the worse rounds show. */
export function verdictOn({ goal }: Row, { value, spread: [low] }: Measurement): Verdict {
  if (goal === undefined) return '';
  if (value <= goal) return 'met';
  return low <= goal * 1.5 ? 'missed' : 'failed';
}

/** The value with a share of the others below it. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)]!;
  return below + (sorted[Math.ceil(at)]! - below) * (at - Math.floor(at));
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function quartiles(values: readonly number[]): [number, number] {
  return [quantile(values, 0.25), quantile(values, 0.75)];
}

/** Two series taken in turn: the ratio in each round. */
export function ratio(subject: readonly number[], baseline: readonly number[], unit: string): Measurement {
  return single(
    subject.map((value, round) => value / baseline[round]!),
    `${digits(median(subject))} : ${digits(median(baseline))} ${unit}`,
  );
}

/** One value of each round: their median. */
export function single(values: readonly number[], detail: string): Measurement {
  return { value: median(values), spread: quartiles(values), detail };
}

/** Three digits that count. */
export function digits(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
