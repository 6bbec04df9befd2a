/** Disturbances, one after the other, in an order that the seed decides. Each leaves everything as it was, in time. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from '../support/redis';
import type { RoundRobin } from '../support/round-robin';
import { chaosLimits } from './limits';
import type { NodeProcess } from './node-process';
import type { Random } from './random';

export interface Stage {
  readonly nodes: readonly NodeProcess[];
  readonly proxy: RoundRobin;
  readonly redis: Redis;
  readonly random: Random;
}

const disturbances: Record<string, (stage: Stage) => Promise<unknown>> = {
  async 'kill a node'({ nodes, random }) {
    await reborn(random.pick(nodes), random);
  },
  async 'kill two nodes'({ nodes, random }) {
    await Promise.all(
      random
        .shuffle(nodes)
        .slice(1)
        .map((node) => reborn(node, random)),
    );
  },
  async 'cut connections'({ proxy }) {
    proxy.cut(0.5);
  },
  async 'pause Redis'({ redis, random }) {
    redis.pause();
    await delay(chaosLimits.commandTimeoutMs * 1.5 + random.between(0, 500));
    redis.resume();
  },
  async 'pause Redis for a moment'({ redis, random }) {
    redis.pause();
    await delay(random.between(50, 400));
    redis.resume();
  },
  async 'restart Redis'({ redis, random }) {
    await redis.kill();
    await delay(random.between(0, 500));
    await redis.start();
  },
  async 'kill a node while Redis is away'({ nodes, redis, random }) {
    redis.pause();
    const back = reborn(random.pick(nodes), random);
    await delay(random.between(100, 1_000));
    redis.resume();
    await back;
  },
};

async function reborn(node: NodeProcess, random: Random): Promise<void> {
  await node.kill();
  await delay(random.between(0, 1_000));
  await node.start();
}

/** Go on for `ms`; every kind comes at least once if there is time. @returns How often each came. */
export async function storm(stage: Stage, ms: number): Promise<Record<string, number>> {
  const { nodes, random } = stage;
  const counts: Record<string, number> = {};
  const end = Date.now() + ms;
  let said = 0;
  for (let order: string[] = []; Date.now() < end;) {
    if (order.length === 0) order = random.shuffle(Object.keys(disturbances));
    const kind = order.pop()!;
    counts[kind] = (counts[kind] ?? 0) + 1;
    random.pick(nodes).say((said += 1));
    await disturbances[kind]!(stage);
    await delay(random.between(200, 1_200));
  }
  return counts;
}
