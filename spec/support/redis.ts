/** A Redis of a spec's own, on a loopback port; without `redis-server` on the PATH its specs are skipped, never in CI. */
import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from 'redis';
import { redisSessions } from 'express-mcp/redis';
import type { RedisSessionsOptions, RedisSessionStore } from 'express-mcp/redis';

const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

/** `describe`, where there is a Redis. */
export function describeRedis(name: string, specs: () => void): void {
  if (hasRedis) return describe(name, specs);
  if (process.env.CI === 'true') {
    return describe(name, () => {
      it('needs redis-server on the PATH', () => {
        throw new Error('redis-server is not on the PATH, and in CI these specs are not skipped');
      });
    });
  }
  describe.skip(`${name} (skipped: redis-server is not on the PATH)`, specs);
}

export interface Redis {
  port: number;
  url: string;
  /** A store of one node more; all share their sessions. */
  createStore(options?: Partial<RedisSessionsOptions>): RedisSessionStore;
  /** Hold it as it is: connections stay, nothing is answered. */
  pause(): void;
  resume(): void;
  /** Take it away, and start it again on the same port: empty, unless it is durable. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Forget what a durable one has kept, while it is away. */
  wipe(): void;
  /** Send a command, read its answer. */
  command(...words: string[]): Promise<unknown>;
  close(): Promise<void>;
}

/**
 * Start one. Every store made from it has a client that is never connected, as stores want it.
 *
 * @param durable What it has been told before it was killed it knows when it has been started again.
 */
export async function createRedis({ durable = false } = {}): Promise<Redis> {
  const port = await freePort();
  const kept = durable ? mkdtempSync(join(tmpdir(), 'redis-')) : undefined;
  const url = `redis://127.0.0.1:${port}`;
  const stores: RedisSessionStore[] = [];
  let server: ChildProcess | undefined;
  const client = createClient({ url });
  client.on('error', () => undefined);

  async function start(): Promise<void> {
    const settings = ['--port', String(port), '--bind', '127.0.0.1', '--save', ''];
    if (kept === undefined) settings.push('--appendonly', 'no');
    // A killed process loses nothing that it has handed to the system.
    else settings.push('--appendonly', 'yes', '--appendfsync', 'no', '--dir', kept);
    const child = (server = spawn('redis-server', settings, { stdio: ['ignore', 'pipe', 'inherit'] }));
    await new Promise<void>((resolve, reject) => {
      let log = '';
      child.stdout!.on('data', (chunk: Buffer) => {
        log += String(chunk);
        if (log.includes('Ready to accept connections')) resolve();
      });
      child.on('exit', (code) => reject(new Error(`redis-server ended with ${code}: ${log}`)));
    });
  }

  async function kill(): Promise<void> {
    const child = server;
    server = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
  }

  await start();
  await client.connect();
  return {
    port,
    url,
    createStore(options) {
      const store = redisSessions({ client: createClient({ url }), commandTimeoutMs: 1_000, ...options });
      stores.push(store);
      return store;
    },
    pause: () => void server?.kill('SIGSTOP'),
    resume: () => void server?.kill('SIGCONT'),
    kill,
    start,
    wipe() {
      if (kept !== undefined) rmSync(join(kept, 'appendonlydir'), { recursive: true, force: true });
    },
    command: (...words) => client.sendCommand(words),
    async close() {
      await Promise.all(stores.map((store) => store.shared.leave()));
      client.destroy();
      await kill();
      if (kept !== undefined) rmSync(kept, { recursive: true, force: true });
    },
  };
}

/** A port that nobody has right now. */
export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
