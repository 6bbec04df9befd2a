// node -r esbuild-register spec/conformance/nodes.ts
/** The same server as three processes that share a Redis, behind a round-robin. Prints the URL of that; ends with SIGTERM. */
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { createRedis } from '../support/redis';
import type { Redis } from '../support/redis';
import { createRoundRobin } from '../support/round-robin';

const nodes: ChildProcess[] = [];
let ending = false;

async function startNode(redisUrl: string): Promise<number> {
  const child = fork(path.join(__dirname, 'server.ts'), {
    env: { ...process.env, REDIS_URL: redisUrl },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  nodes.push(child);
  // The suite would not notice that two nodes do the work of three.
  child.once('exit', (code) => {
    if (!ending) throw new Error(`A node has ended with ${code}`);
  });
  const [url] = (await once(createInterface(child.stdout!), 'line')) as [string];
  return Number(new URL(url).port);
}

/** The nodes first, so that none complains about a Redis that is gone. */
async function end(redis: Redis): Promise<void> {
  ending = true;
  const gone = nodes.map((node) => once(node, 'exit'));
  for (const node of nodes) node.disconnect();
  await Promise.all(gone);
  await redis.close();
  process.exit();
}

async function main(): Promise<void> {
  const redis = await createRedis();
  process.once('exit', () => void redis.kill());
  process.once('SIGTERM', () => void end(redis));
  const ports = await Promise.all([redis.url, redis.url, redis.url].map(startNode));
  const proxy = await createRoundRobin(ports);
  console.log(`http://127.0.0.1:${proxy.port}`);
}

void main();
