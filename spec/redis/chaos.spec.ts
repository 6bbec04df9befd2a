/**
 * Nodes die, connections break, Redis stops and starts, and fifty real clients go on calling. `CHAOS_SECONDS` says for how
 * long; `CHAOS_SEED` says what happens in which order.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChaosClient } from '../chaos/client';
import { createNodeProcess } from '../chaos/node-process';
import type { NodeProcess } from '../chaos/node-process';
import { createRandom } from '../chaos/random';
import { storm } from '../chaos/storm';
import { Tally } from '../chaos/tally';
import type { Call } from '../chaos/tally';
import { eventually } from '../support/eventually';
import { createRedis, describeRedis, freePort } from '../support/redis';
import type { Redis } from '../support/redis';
import { createRoundRobin } from '../support/round-robin';
import type { RoundRobin } from '../support/round-robin';

const seconds = Number(process.env.CHAOS_SECONDS ?? 15);
const seed = Number(process.env.CHAOS_SEED ?? 1);
jest.setTimeout((seconds + 90) * 1_000);

describeRedis('Three nodes that die', () => {
  const clientCount = 50;
  let redis: Redis;
  let nodes: NodeProcess[];
  let proxy: RoundRobin;
  let folder: string;
  let ledger: string;
  let tally: Tally;
  let clients: ChaosClient[];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'chaos-'));
    ledger = join(folder, 'paid');
    writeFileSync(ledger, '');
    redis = await createRedis({ durable: true });
    const env = { REDIS_URL: redis.url, LEDGER: ledger };
    const ports = [await freePort(), await freePort(), await freePort()];
    nodes = await Promise.all(ports.map((port) => createNodeProcess(port, env)));
    proxy = await createRoundRobin(ports);
    tally = new Tally();
    const url = `http://127.0.0.1:${proxy.port}/`;
    clients = Array.from({ length: clientCount }, (_, n) => {
      return new ChaosClient(url, `c${n}`, createRandom(seed * 1_000 + n), tally);
    });
    await Promise.all(clients.map((client) => client.connect()));
    await eventually(() => clients.every(({ listening }) => listening));
  });
  afterAll(async () => {
    redis.resume();
    await Promise.all(clients.map((client) => client.close()));
    await proxy.close();
    await Promise.all(nodes.map((node) => node.kill()));
    await redis.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Once the node that is asked has found Redis again. */
  async function echo(client: ChaosClient): Promise<Call> {
    for (;;) {
      const call = await client.call('echo');
      if (call.why !== '503') return call;
    }
  }

  it(`answer every call once, run nothing twice, and lose no session (CHAOS_SEED=${seed} CHAOS_SECONDS=${seconds})`, async () => {
    const before = clients.map(({ sessionId }) => sessionId);
    const lives = clients.map((client) => client.live());
    const random = createRandom(seed);
    const disturbed = await storm({ nodes, proxy, redis, random }, seconds * 1_000);
    for (const client of clients) client.stop();
    await Promise.all(lives);
    tally.judge(ledger);
    process.stderr.write(`${tally.summary()}; disturbed: ${JSON.stringify(disturbed)}\n`);
    expect(tally.faults).toEqual([]);
    // What Redis did not do in time is all that anybody complains of.
    const complaints = nodes.flatMap(({ errors }) => errors);
    expect(complaints.filter((text) => !text.startsWith('Redis: '))).toEqual([]);

    // Their streams have found their way back, with all that was said meanwhile: to all of them, or to none.
    nodes[0]!.say(0);
    const unheard = () => {
      const said = new Set([0, ...clients.flatMap(({ heard }) => [...heard])]);
      return clients.flatMap(({ heard }, n) =>
        [...said].filter((data) => !heard.has(data)).map((data) => `c${n}: ${data}`),
      );
    };
    // What is missing says more than that something is.
    await eventually(() => unheard().length === 0).catch(() => undefined);
    expect(unheard()).toEqual([]);

    // On every node, in the session of before.
    for (let turn = 0; turn < nodes.length; turn += 1) {
      const calls = await Promise.all(clients.map(echo));
      expect(calls.map(({ outcome, why }) => why ?? outcome)).toEqual(clients.map(() => 'answered'));
    }
    expect(clients.map(({ sessionId }) => sessionId)).toEqual(before);
  });

  it('end sessions when Redis comes back empty: 404, and clients open new ones', async () => {
    const before = clients.map(({ sessionId }) => sessionId);
    await redis.kill();
    redis.wipe();
    await redis.start();
    await Promise.all(
      clients.map(async (client) => {
        expect((await echo(client)).why).toBe('404');
        await client.connect();
        expect((await echo(client)).outcome).toBe('answered');
      }),
    );
    expect(clients.filter(({ sessionId }, n) => sessionId === before[n])).toEqual([]);
  });
});
