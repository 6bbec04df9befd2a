/** The soaked server from outside: a child process, started, asked and ended. */
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Condition } from './server';

export interface SoakedServer {
  port: number;
  child: ChildProcess;
  condition(): Promise<Condition>;
  /** End it at once, as a crash does. */
  kill(): Promise<void>;
}

const running = new Set<ChildProcess>();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

/** Start it. A rejection that nobody handles is its end. @throws {Error} when it dies before it listens. */
export async function startServer(port = 0): Promise<SoakedServer> {
  const child = fork(join(__dirname, 'server.ts'), {
    execArgv: ['--unhandled-rejections=strict', '--expose-gc', '-r', 'esbuild-register'],
    env: { ...process.env, PORT: String(port) },
    cwd: join(__dirname, '../..'),
  });
  running.add(child);
  const exited = once(child, 'exit').then(() => void running.delete(child));
  const answer = async <T>(): Promise<T> => {
    const died = exited.then(() => Promise.reject(new Error(`The server has died: ${child.exitCode}`)));
    const [message] = (await Promise.race([once(child, 'message'), died])) as [T];
    return message;
  };
  return {
    port: await answer<number>(),
    child,
    condition() {
      child.send('condition');
      return answer<Condition>();
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
