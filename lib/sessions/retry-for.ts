/** What another node may have yet to do: looked for again and again, for a while. */
import { setTimeout as delay } from 'node:timers/promises';
import { UnavailableError } from '../protocol/errors';

const everyMs = 50;

/**
 * Try until there is an answer.
 *
 * @param attempt Gives 'again' where there is none yet.
 * @throws {UnavailableError} with the text `tooLate` where there is none after `limitMs`.
 */
export async function retryFor<T>(limitMs: number, tooLate: string, attempt: () => Promise<T | 'again'>): Promise<T> {
  const giveUpAt = Date.now() + limitMs;
  for (;;) {
    const answer = await attempt();
    if (answer !== 'again') return answer;
    if (Date.now() > giveUpAt) throw new UnavailableError(tooLate);
    await delay(everyMs, undefined, { ref: false });
  }
}
