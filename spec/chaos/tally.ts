/** What became of every call, and what must not become of any. */
import { readFileSync } from 'node:fs';

/** `answered`: with what was asked for. `refused`: by an `isError` result. `failed`: by an error of the protocol or of HTTP. `cut`: the connection broke. */
export type Outcome = 'answered' | 'refused' | 'failed' | 'cut';

export interface Call {
  readonly tool: string;
  readonly nonce: string;
  /** What the human said, each time they were asked. */
  readonly said: boolean[];
  outcome?: Outcome;
  /** In words, where it is not `answered`. */
  why?: string;
}

/** Errors that tell a client what has happened. Whatever else it is told is a fault, an ended session among them. */
const clear = [
  /^503$/,
  // The connection broke: before the answer's head, or after.
  /^fetch failed$/,
  /^terminated$/,
  /The process that ran this call has ended; whether the call took effect is not known$/,
  /^Nobody answered in time$/,
  /^Not authorized: The user has not approved this$/,
];

export class Tally {
  readonly calls = new Map<string, Call>();
  /** In words. */
  readonly faults: string[] = [];
  /** Resumed streams, by status. */
  readonly resumed: Record<string, number> = {};

  begin(tool: string, nonce: string): Call {
    const call: Call = { tool, nonce, said: [] };
    this.calls.set(nonce, call);
    return call;
  }

  fault(text: string): void {
    this.faults.push(text);
  }

  countResumed(status: number): void {
    this.resumed[status] = (this.resumed[status] ?? 0) + 1;
  }

  /** Compare with what the tools have written down. */
  judge(ledger: string): void {
    const ran = new Map<string, number>();
    for (const nonce of readFileSync(ledger, 'utf8').split('\n').filter(Boolean))
      ran.set(nonce, (ran.get(nonce) ?? 0) + 1);
    for (const [nonce, times] of ran) {
      if (times > 1) this.fault(`${nonce} was paid ${times} times`);
      if (!this.calls.get(nonce)?.said.includes(true)) this.fault(`${nonce} was paid, and nobody had said yes`);
    }
    for (const status of Object.keys(this.resumed))
      if (status !== '200' && status !== '503') this.fault(`Resuming was answered with ${status}`);
    for (const { tool, nonce, outcome, why, said } of this.calls.values()) {
      if (outcome === undefined) this.fault(`${tool} ${nonce} is not over`);
      if (why !== undefined && !clear.some((text) => text.test(why))) this.fault(`${tool} ${nonce} ${outcome}: ${why}`);
      if (said.length > 1) this.fault(`${tool} ${nonce} was asked ${said.length} times`);
      if (tool !== 'pay') continue;
      if (outcome === 'answered' && ran.get(nonce) !== 1) this.fault(`${nonce} was answered, and not paid`);
      if (said[0] === false && ran.has(nonce)) this.fault(`${nonce} was declined, and paid`);
      if (outcome === 'refused' && ran.has(nonce)) this.fault(`${nonce} was refused (${why}), and paid`);
    }
  }

  /** How many calls came to what. */
  summary(): string {
    const counts: Record<string, number> = {};
    for (const { outcome = 'open', why } of this.calls.values()) {
      const what = why === undefined ? outcome : `${outcome} (${why})`;
      counts[what] = (counts[what] ?? 0) + 1;
    }
    return `${this.calls.size} calls: ${JSON.stringify(counts)}; resumed: ${JSON.stringify(this.resumed)}`;
  }
}
