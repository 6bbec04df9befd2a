/** A node from outside: a child process that is killed, and started again on the same port. */
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export interface NodeProcess {
  readonly port: number;
  readonly alive: boolean;
  /** What `onError` heard, and what the process died of when nobody killed it. */
  readonly errors: string[];
  start(): Promise<void>;
  /** At once, as a crash does. */
  kill(): Promise<void>;
  /** Say something to all sessions. */
  say(data: number): void;
}

const running = new Set<ChildProcess>();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

/** Start one. A rejection that nobody handles is its end. */
export async function createNodeProcess(port: number, env: Record<string, string>): Promise<NodeProcess> {
  let child: ChildProcess | undefined;
  let isReady = false;
  const errors: string[] = [];

  async function start(): Promise<void> {
    const started = (child = fork(join(__dirname, 'node.ts'), {
      execArgv: ['--unhandled-rejections=strict', '-r', 'esbuild-register'],
      env: { ...process.env, ...env, PORT: String(port) },
      cwd: join(__dirname, '../..'),
    }));
    running.add(started);
    started.on('message', (message: { error?: string; stack?: string }) => {
      if (message.error !== undefined) errors.push(`${message.error} ${message.stack}`);
    });
    started.once('exit', (code) => {
      running.delete(started);
      if (child !== started) return;
      isReady = false;
      errors.push(`The node died by itself: ${code}`);
    });
    const [message] = (await once(started, 'message')) as [{ ready?: boolean; error?: string }];
    if (message.ready !== true) throw new Error(`The node did not start: ${message.error}`);
    isReady = true;
  }

  await start();
  return {
    port,
    errors,
    get alive() {
      return isReady;
    },
    start,
    async kill() {
      const killed = child;
      child = undefined;
      isReady = false;
      if (killed === undefined || killed.exitCode !== null || killed.signalCode !== null) return;
      const gone = once(killed, 'exit');
      killed.kill('SIGKILL');
      await gone;
    },
    say: (data) => void child?.send(data),
  };
}
