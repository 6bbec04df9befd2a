/** Rows about sessions in Redis: what a call costs, what it asks of Redis, what a second node brings. */
import { availableParallelism } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import type { Settings } from '../bench-server';
import type { Contender } from '../contenders';
import { defaultConnections, LoadGenerator, sendAll } from '../load/load-generator';
import { echoCall, legacyRequest } from '../load/requests';
import type { WireRequest } from '../load/requests';
import { beginSessions } from '../load/sessions';
import { RedisProcess, withRedis } from '../redis-process';
import type { RedisState } from '../redis-process';
import { digits, median, ratio, single } from '../row';
import type { Budget, Measurement, Row } from '../row';
import { ServerProcess, withServers } from '../server-process';

const sessionCount = 50;

const toCalls = (sessionIds: readonly string[]): WireRequest[] =>
  sessionIds.map((id) => legacyRequest(id, 'tools/call', echoCall));

function inSessions(settings: Contender['settings']): Contender {
  const requests = async (port: number) => toCalls(await beginSessions(port, sessionCount));
  return { server: 'express-mcp', settings, alone: true, requests };
}

const cost: Row = {
  id: 'redis-session',
  measure: 'call in Express, session in Redis',
  against: 'session in memory',
  unit: 'times',
  method: [inSessions(async () => ({ redis: (await RedisProcess.start()).url })), inSessions({})],
};

/** Run with a Redis and a node of it. */
async function withNode<Result>(
  run: (redis: RedisProcess, node: ServerProcess) => Promise<Result>,
  settings: Settings = {},
): Promise<Result> {
  return withRedis((redis) =>
    withServers([ServerProcess.start('express-mcp', { ...settings, redis: redis.url })], (node) => run(redis, node!)),
  );
}

/** What has been done between two states, per call. */
function perCall(before: RedisState, after: RedisState, calls: number): RedisState {
  const share = (what: keyof RedisState) => (after[what] - before[what]) / calls;
  return { sent: share('sent'), executed: share('executed'), cpu: share('cpu'), bytes: share('bytes') };
}

function countOf(series: readonly RedisState[]): Measurement {
  const middle = (what: keyof RedisState) => digits(median(series.map((round) => round[what])));
  return single(
    series.map(({ sent }) => sent),
    `${middle('executed')} carried out, ${middle('cpu')} µs`,
  );
}

const commands: Row = {
  id: 'redis-commands',
  measure: 'commands to Redis per call, sessions in use',
  against: '',
  unit: 'commands',
  goal: 2,
  async method({ rounds, roundMs }) {
    return withNode(async (redis, node) => {
      const load = await LoadGenerator.open(node.port, toCalls(await beginSessions(node.port, sessionCount)));
      try {
        // The scripts are loaded, and all sessions reported as in use.
        await load.run({ durationMs: roundMs });
        const series: RedisState[] = [];
        for (let round = 0; round < rounds; round += 1) {
          const before = await redis.state();
          const calls = await load.run({ durationMs: roundMs });
          series.push(perCall(before, await redis.state(), calls));
        }
        return countOf(series);
      } finally {
        load.close();
      }
    });
  },
};

/** A session in use is reported again after a quarter of its idle time, or half a minute. */
const idleMs = 16_000;
const reportedAgainMs = idleMs / 4 + 500;

const restedCommands: Row = {
  id: 'redis-commands-rested',
  measure: 'commands to Redis per call, rarer than reports',
  against: '',
  unit: 'commands',
  async method({ repeats }) {
    return withNode(
      async (redis, node) => {
        const calls = toCalls(await beginSessions(node.port, 1_000));
        await sendAll(node.port, calls);
        const series: RedisState[] = [];
        for (let repeat = 0; repeat < repeats; repeat += 1) {
          await setTimeout(reportedAgainMs);
          const before = await redis.state();
          await sendAll(node.port, calls);
          series.push(perCall(before, await redis.state(), calls.length));
        }
        return countOf(series);
      },
      { idleMs },
    );
  },
};

const memory: Row = {
  id: 'redis-memory',
  measure: 'Redis’s memory per session',
  against: '',
  unit: 'bytes',
  async method({ sessions, repeats }) {
    const users = true;
    const values: number[] = [];
    for (let repeat = 0; repeat < repeats; repeat += 1) {
      values.push(
        await withNode(
          async (redis, node) => {
            // Scripts, and the buffers of connections, are no session's.
            await beginSessions(node.port, defaultConnections, { users });
            const before = await redis.state();
            await beginSessions(node.port, sessions, { users });
            return perCall(before, await redis.state(), sessions).bytes;
          },
          { users },
        ),
      );
    }
    return single(values, `${sessions} sessions`);
  },
};

/** What one round of calls costs and gives. */
interface Round {
  /** CPU time of all nodes per call, in microseconds; and of Redis. */
  readonly cpu: number;
  readonly redis: number;
  /** Calls per second. */
  readonly rate: number;
}

/** Rounds on one node, and on two, in turn. Each session is used on both. */
async function measureNodes({ rounds, roundMs, warmUp, warmMs }: Budget): Promise<[one: Round[], two: Round[]]> {
  return withRedis((redis) => {
    const servers = [0, 1].map((core) => ServerProcess.start('express-mcp', { redis: redis.url }, core));
    return withServers(servers, async (...nodes) => {
      const sessionIds = await beginSessions(nodes[0]!.port, sessionCount);
      const loads: LoadGenerator[] = [];
      const open = async ({ port }: ServerProcess, connections: number): Promise<LoadGenerator> => {
        const load = await LoadGenerator.open(port, toCalls(sessionIds), { connections });
        loads.push(load);
        return load;
      };
      const cpuOf = async (of: readonly ServerProcess[]): Promise<number> => {
        let sum = 0;
        for (const node of of) sum += await node.ask({ what: 'cpu' });
        return sum;
      };
      async function measure(of: readonly ServerProcess[], by: readonly LoadGenerator[]): Promise<Round> {
        const [before, cpu] = [await redis.state(), await cpuOf(of)];
        const start = performance.now();
        const counts = await Promise.all(by.map((load) => load.run({ durationMs: roundMs })));
        const seconds = (performance.now() - start) / 1_000;
        const calls = counts.reduce((sum, count) => sum + count);
        return {
          cpu: ((await cpuOf(of)) - cpu) / calls,
          redis: perCall(before, await redis.state(), calls).cpu,
          rate: calls / seconds,
        };
      }
      try {
        const one = [await open(nodes[0]!, defaultConnections)];
        const two = [await open(nodes[0]!, defaultConnections / 2), await open(nodes[1]!, defaultConnections / 2)];
        for (const load of two) await load.run({ total: warmUp, durationMs: warmMs });
        const series: [Round[], Round[]] = [[], []];
        for (let round = 0; round < rounds; round += 1) {
          series[0].push(await measure(nodes.slice(0, 1), one));
          series[1].push(await measure(nodes, two));
        }
        return series;
      } finally {
        for (const load of loads) load.close();
      }
    });
  });
}

/** Measured once for the rows that need it. */
let measured: Promise<[one: Round[], two: Round[]]> | undefined;

function nodeRow(
  row: Pick<Row, 'id' | 'measure' | 'against'>,
  unit: string,
  pick: (one: readonly Round[], two: readonly Round[]) => [subject: number[], baseline: number[]],
): Row {
  return {
    ...row,
    unit: 'times',
    async method(budget) {
      return ratio(...pick(...(await (measured ??= measureNodes(budget)))), unit);
    },
  };
}

export const redisRows: readonly Row[] = [
  cost,
  commands,
  restedCommands,
  memory,
  nodeRow({ id: 'redis-share', measure: 'Redis’s CPU per call', against: 'the node’s' }, 'µs', (one) => [
    one.map(({ redis }) => redis),
    one.map(({ cpu }) => cpu),
  ]),
  nodeRow({ id: 'redis-nodes', measure: 'CPU per call, two nodes together', against: 'one node' }, 'µs', (one, two) => [
    two.map(({ cpu }) => cpu),
    one.map(({ cpu }) => cpu),
  ]),
  nodeRow(
    {
      id: 'redis-throughput',
      measure: `calls per second, two nodes, ${availableParallelism()} cores`,
      against: 'one node, load and Redis elsewhere',
    },
    '/s',
    (one, two) => [two.map(({ rate }) => rate), one.map(({ rate }) => rate)],
  ),
];
