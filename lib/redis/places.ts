/** The places that sessions take, in all and of their principals: what the caps count, and what tells of ends by idleness. */
import type { SessionRecord } from '../sessions/session-store';
import type { SharedSettings } from '../sessions/shared-store';
import type { Connection } from './connection';
import type { Keys } from './keys';
import { claimIdle, keepPlace, leaveIdle, leavePlace, lifeLeft, takePlace } from './session-scripts';

/** The ends of sessions wait for this long for a node that tells of them. */
const noNodeMs = 600_000;

/** Sessions whose time is up are looked after by one node, so many at once, for so long. */
const idleBatch = 200;
const claimMs = 10_000;

/** Larger than any cap; Lua knows no Infinity in our arguments. */
const noCap = 2 ** 53;

export interface Places {
  /** Take one for a session that is being opened; without {@link Places.keep} it is free again soon. */
  take(record: SessionRecord): Promise<{ taken: boolean; seq: number; evicted: string[] }>;
  /** @returns False if it was not there any more. */
  keep(record: Pick<SessionRecord, 'id' | 'principal'>): Promise<boolean>;
  /** @returns Whose it was, if it was somebody's. */
  leave(id: string, principal: string | undefined): Promise<string | undefined>;
  /** Give up some of those whose sessions have ended by being idle. */
  endIdle(): Promise<{ ended: { id: string; principal: string | undefined }[]; more: boolean }>;
}

/** @param openingMs How long opening a session may take. */
export function createPlaces(redis: Connection, keys: Keys, openingMs: number, settings: () => SharedSettings): Places {
  const { all, owners } = keys;

  const placesOf = (principal: string | undefined): string[] =>
    principal === undefined ? [all, owners] : [all, owners, keys.principal(principal)];

  return {
    async take({ id, principal }) {
      const { idleMs, evictableAfterMs, maxSessions, maxSessionsPerPrincipal } = settings();
      const caps = [maxSessions, maxSessionsPerPrincipal].map((cap) => Math.min(cap, noCap));
      const reply = await redis.run(
        takePlace,
        [keys.seq, ...placesOf(principal)],
        [id, idleMs, evictableAfterMs, ...caps, principal ?? '', noNodeMs, openingMs],
      );
      const [taken, seq, ...evicted] = reply as [number, number, ...string[]]; // as the script returns it
      return { taken: taken === 1, seq, evicted };
    },

    async keep({ id, principal }) {
      return (await redis.run(keepPlace, placesOf(principal), [id, settings().idleMs, noNodeMs])) === 1;
    },

    async leave(id, principal) {
      return ((await redis.run(leavePlace, placesOf(principal), [id])) as string | null) ?? undefined;
    },

    async endIdle() {
      const ids = (await redis.run(claimIdle, [all], [idleBatch, claimMs])) as string[];
      const lives = await Promise.allSettled(ids.map((id) => redis.run(lifeLeft, [keys.session(id)], [])));
      // What could not be looked up is looked up again when nobody cares for it any more.
      const known = ids.flatMap((id, n) => {
        const life = lives[n]!;
        return life.status === 'fulfilled' ? [id, life.value as number] : [];
      });
      const flat = known.length === 0 ? [] : ((await redis.run(leaveIdle, [all, owners], known)) as string[]);
      const ended = flat.flatMap((id, n) => (n % 2 === 0 ? [{ id, principal: flat[n + 1] || undefined }] : []));
      return { ended, more: ids.length === idleBatch };
    },
  };
}
