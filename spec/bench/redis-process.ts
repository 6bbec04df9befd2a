/** A Redis of the benchmark's own, on a free loopback port, that is asked what it has done. */
import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { createClient } from 'redis';
import { pinned } from './cores';
import { Skipped } from './row';

const patienceMs = 10_000;

const running = new Set<ChildProcess>();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

/** What has been done since the start, and what is kept. */
export interface RedisState {
  /** Commands that the nodes have sent, */
  readonly sent: number;
  /** and those that were carried out, within scripts too. */
  readonly executed: number;
  /** In microseconds. */
  readonly cpu: number;
  readonly bytes: number;
}

/** What the session store sends; none of them is used within the scripts of a call. */
const sentCommands = ['hgetall', 'evalsha', 'eval', 'publish'];

export class RedisProcess {
  readonly #child: ChildProcess;
  readonly #client;
  readonly url: string;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.url = `redis://127.0.0.1:${port}`;
    this.#client = createClient({ url: this.url, socket: { reconnectStrategy: 20 } });
    // It is asked before it listens, and again.
    this.#client.on('error', () => {});
  }

  /** It keeps nobody waiting: what is not stopped ends with this process. @throws {Skipped} where there is none. */
  static async start(): Promise<RedisProcess> {
    if (spawnSync('redis-server', ['--version']).status !== 0) throw new Skipped('redis-server is not on the PATH');
    const port = await freePort();
    const settings = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    const child = spawn(...pinned(2, 'redis-server', settings), { stdio: 'ignore' });
    running.add(child);
    child.unref();
    const redis = new RedisProcess(child, port);
    const timer = setTimeout(() => redis.#client.destroy(), patienceMs);
    await redis.#client.connect();
    clearTimeout(timer);
    redis.#client.unref();
    return redis;
  }

  async state(): Promise<RedisState> {
    const text = await this.#client.info('everything');
    const numbers = new Map<string, number>();
    for (const [, name, value] of text.matchAll(/^(\w+):(?:calls=)?([\d.]+)/gm)) numbers.set(name!, Number(value));
    const of = (name: string) => numbers.get(name) ?? 0;
    return {
      sent: sentCommands.reduce((sum, name) => sum + of(`cmdstat_${name}`), 0),
      executed: of('total_commands_processed') - of('cmdstat_info'),
      cpu: (of('used_cpu_user') + of('used_cpu_sys')) * 1e6,
      bytes: of('used_memory'),
    };
  }

  async stop(): Promise<void> {
    this.#client.destroy();
    this.#child.ref();
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await gone;
    running.delete(this.#child);
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

/** Run with one that ends with it, however it ends. */
export async function withRedis<Result>(run: (redis: RedisProcess) => Promise<Result>): Promise<Result> {
  const redis = await RedisProcess.start();
  try {
    return await run(redis);
  } finally {
    await redis.stop();
  }
}
