/** An example as a process of its own, started by the command in its first line. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { root } from './program';

/** A running example. */
export interface Example {
  /** Where its endpoint is. */
  url: string;
  /** What it has printed so far. */
  readonly output: string;
  process: ChildProcess;
  /** Resolves once it has printed `text`; rejects when it ends before. */
  prints(text: string): Promise<void>;
  /** Its exit code, once it has ended and all it printed has come. */
  ended: Promise<number | null>;
}

const running = new Set<Example>();

/** The command of the example's first line. */
export function commandOf(name: string): string {
  const [first = ''] = readFileSync(path.join(root, 'examples', `${name}.ts`), 'utf8').split('\n', 1);
  return first.replace(/^\/\/ /, '');
}

/** Start an example on a free port, or on the one of `env`, without waiting for anything. */
export async function runExample(name: string, env: NodeJS.ProcessEnv = {}, args: string[] = []): Promise<Example> {
  const [, ...words] = commandOf(name).split(' ');
  const port = env.PORT ?? (await freePort());
  const child = spawn(process.execPath, [...words, ...args], {
    cwd: root,
    // The runner's NODE_ENV is not what a reader has.
    env: { ...process.env, NODE_ENV: undefined, PORT: String(port), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const example: Example = {
    url: `http://127.0.0.1:${port}/mcp`,
    get output() {
      return output;
    },
    process: child,
    prints: (text) =>
      new Promise((resolve, reject) => {
        const look = () => output.includes(text) && resolve();
        look();
        child.stdout.on('data', look);
        child.stderr.on('data', look);
        child.on('close', () => reject(new Error(`${name} ended without printing "${text}":\n${output}`)));
      }),
    ended: once(child, 'close').then(([code]) => code as number | null),
  };
  running.add(example);
  return example;
}

/** Start an example that serves, and wait until it says so. */
export async function startExample(name: string, env?: NodeJS.ProcessEnv): Promise<Example> {
  const example = await runExample(name, env);
  await example.prints(example.url);
  return example;
}

/** End what was started here. */
export async function endExamples(): Promise<void> {
  for (const example of running) {
    example.process.kill('SIGKILL');
    await example.ended;
  }
  running.clear();
}

/** A port of this machine that nobody listens on. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
