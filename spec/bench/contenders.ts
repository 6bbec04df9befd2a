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
  readonly requests: (port: number, budget: Budget) => readonly WireRequest[] | Promise<readonly WireRequest[]>;
  /** Whether it leaves something behind, so that no other may use its server. @default false */
  readonly alone?: boolean;
}

/** A contender that takes part. */
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
 * @param profiles Where to write a profile of each, from after it is warm, as `<port>-<server>.cpuprofile`.
 */
export async function measureContenders(
  contenders: ReadonlySet<Contender>,
  budget: Budget,
  profiles?: string,
): Promise<Results> {
  const results = new Map<Contender, readonly number[] | Error>();
  const entrants = new Set<Entrant>();
  /** By what makes them alike: servers that are set up alike are one. */
  const servers = new Map<unknown, ServerProcess>();

  async function attempt(contender: Contender, step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      results.set(contender, error as Error);
    }
  }

  async function serverOf(contender: Contender): Promise<ServerProcess> {
    const { server: name, settings = {}, alone } = contender;
    const known = typeof settings === 'object' && alone !== true;
    const key = known ? `${name} ${JSON.stringify(settings)}` : contender;
    const running = servers.get(key);
    if (running !== undefined) return running;
    const server = await ServerProcess.start(name, typeof settings === 'function' ? await settings() : settings);
    servers.set(key, server);
    return server;
  }

  async function enter(contender: Contender): Promise<void> {
    const server = await serverOf(contender);
    const requests = await contender.requests(server.port, budget);
    const load = await LoadGenerator.open(server.port, requests, contender);
    entrants.add({ contender, server, load, series: [] });
    await load.run({ total: budget.warmUp, durationMs: budget.warmMs });
  }

  try {
    for (const contender of contenders) await attempt(contender, () => enter(contender));
    if (profiles !== undefined) for (const server of servers.values()) await server.ask({ what: 'startProfile' });
    for (let round = 0; round < budget.rounds; round += 1) {
      for (const entrant of entrants) {
        if (results.has(entrant.contender)) continue;
        await attempt(entrant.contender, async () => {
          entrant.series.push(await cpuPerRequest(entrant, budget.roundMs));
        });
      }
    }
    if (profiles !== undefined) for (const server of servers.values()) await writeProfile(server, profiles);
  } finally {
    for (const { load } of entrants) load.close();
    for (const server of servers.values()) await server.stop();
  }
  for (const { contender, series } of entrants) if (!results.has(contender)) results.set(contender, series);
  return results;
}

async function writeProfile(server: ServerProcess, directory: string): Promise<void> {
  await server.ask({ what: 'stopProfile', file: join(directory, `${server.port}-${server.name}.cpuprofile`) });
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
