/** CPU per request of many servers, in interleaved rounds, so that what disturbs one disturbs the others. */
import { join } from 'node:path';
import type { ServerName, Settings } from './bench-server';
import { LoadGenerator } from './load/load-generator';
import type { LoadOptions } from './load/load-generator';
import type { WireRequest } from './load/requests';
import type { Budget } from './row';
import { ServerProcess } from './server-process';

/** A server, how it is set up, and what it is sent. */
export interface Contender extends LoadOptions {
  readonly server: ServerName;
  readonly settings?: Settings | (() => Promise<Settings>);
  /** Made once the server runs; sessions begin here. */
  readonly requests: (port: number) => readonly WireRequest[] | Promise<readonly WireRequest[]>;
}

/** A contender whose server runs. */
interface Entrant {
  readonly contender: Contender;
  readonly server: ServerProcess;
  readonly load: LoadGenerator;
  readonly series: number[];
}

/** Microseconds per request, one for each round; or why there are none. */
export type Results = ReadonlyMap<Contender, readonly number[] | Error>;

/**
 * Measure each contender in every round. One that fails is out, and the others go on.
 *
 * @param profiles Where to write a profile of each, from after it is warm, as `<position>-<server>.cpuprofile`.
 */
export async function measureContenders(
  contenders: ReadonlySet<Contender>,
  budget: Budget,
  profiles?: string,
): Promise<Results> {
  const results = new Map<Contender, readonly number[] | Error>();
  const entrants = new Set<Entrant>();

  async function attempt(contender: Contender, step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      results.set(contender, error as Error);
    }
  }

  async function enter(contender: Contender): Promise<void> {
    const { settings } = contender;
    const server = await ServerProcess.start(
      contender.server,
      typeof settings === 'function' ? await settings() : settings,
    );
    const load = await LoadGenerator.open(server.port, await contender.requests(server.port), contender);
    const entrant = { contender, server, load, series: [] };
    entrants.add(entrant);
    await load.run({ total: budget.warmUp, durationMs: budget.warmMs });
    if (profiles !== undefined) await server.ask({ what: 'startProfile' });
  }

  for (const contender of contenders) await attempt(contender, () => enter(contender));
  for (let round = 0; round < budget.rounds; round += 1) {
    for (const entrant of entrants) {
      if (results.has(entrant.contender)) continue;
      await attempt(entrant.contender, async () => {
        entrant.series.push(await cpuPerRequest(entrant, budget.roundMs));
      });
    }
  }
  for (const { contender, server, load, series } of entrants) {
    const file = join(profiles ?? '', `${[...contenders].indexOf(contender)}-${contender.server}.cpuprofile`);
    if (profiles !== undefined) await server.ask({ what: 'stopProfile', file });
    load.close();
    await server.stop();
    if (!results.has(contender)) results.set(contender, series);
  }
  return results;
}

/** What comes before each round and is not measured: the last round is long ago. */
const leadIn = { total: 200, durationMs: 50 };

/** No collection is forced before it: V8 would take its young space away, and spend the round on getting it back. */
async function cpuPerRequest({ server, load }: Entrant, durationMs: number): Promise<number> {
  await load.run(leadIn);
  const before = await server.ask({ what: 'cpu' });
  const count = await load.run({ durationMs });
  return ((await server.ask({ what: 'cpu' })) - before) / count;
}
