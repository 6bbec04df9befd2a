/** A measured server from outside: a process of its own, started, asked and ended. */
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Order, Question, ServerName, Settings } from './bench-server';
import { pinnedNode } from './cores';

/** V8 throws away the code of a process that is idle, and its young space: here it is idle only until its next round. */
const keepWarm = ['--no-flush-bytecode', '--no-memory-reducer'];

/** Longest wait for a start, or for an answer to a question, in milliseconds. */
const patienceMs = 30_000;

const running = new Set<ChildProcess>();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

export class ServerProcess {
  readonly #child: ChildProcess;

  private constructor(
    child: ChildProcess,
    readonly name: ServerName,
    readonly port: number,
  ) {
    this.#child = child;
  }

  /** @param core Another than the server's, where there are several. */
  static async start(name: ServerName, settings: Settings = {}, core = 0): Promise<ServerProcess> {
    const { execPath, execArgv } = pinnedNode(core);
    const child = fork(join(__dirname, 'serve.js'), [name], {
      execPath,
      execArgv: [...execArgv, '--expose-gc', ...keepWarm],
      env: { ...process.env, NODE_ENV: 'test' },
    });
    running.add(child);
    child.once('exit', () => running.delete(child));
    child.send({ name, settings } satisfies Order);
    return new ServerProcess(child, name, await answerOf(child, `${name} to start`));
  }

  /** @throws {Error} when it does not answer in time, or dies. */
  async ask(question: Question): Promise<number> {
    const answer = answerOf(this.#child, question.what);
    this.#child.send(question);
    return answer;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 5_000);
    this.#child.disconnect();
    await exited;
    clearTimeout(timer);
  }
}

/** The next number that the child sends. */
function answerOf(child: ChildProcess, what: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => fail(`waited ${patienceMs} ms in vain`), patienceMs);
    const onExit = () => fail('the server has died');
    function onMessage(answer: unknown): void {
      finish();
      resolve(answer as number);
    }
    function fail(reason: string): void {
      finish();
      reject(new Error(`${what}: ${reason}`));
    }
    function finish(): void {
      clearTimeout(timer);
      child.off('exit', onExit);
      child.off('message', onMessage);
    }
    child.once('exit', onExit);
    child.once('message', onMessage);
  });
}

/** Run with servers that end with it, however it ends. */
export async function withServers<Result>(
  servers: readonly Promise<ServerProcess>[],
  run: (...servers: ServerProcess[]) => Promise<Result>,
): Promise<Result> {
  try {
    return await run(...(await Promise.all(servers)));
  } finally {
    const started = await Promise.allSettled(servers);
    await Promise.all(started.map((start) => (start.status === 'fulfilled' ? start.value.stop() : undefined)));
  }
}
