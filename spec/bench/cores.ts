/** One core for the measured server, another for the load; where there is no `taskset`, or no second core, the system decides. */
import { spawnSync } from 'node:child_process';

/** The two cores, and all there are; or undefined where processes cannot be pinned. */
export const cores = findCores();

function findCores(): { server: number; load: number; all: readonly number[] } | undefined {
  const { status, stdout } = spawnSync('taskset', ['-p', '-c', String(process.pid)], { encoding: 'utf8' });
  if (status !== 0) return undefined;
  const all = parseList(stdout.slice(stdout.lastIndexOf(':') + 1));
  const [server, load] = [all[0]!, all.at(-1)!];
  return server === load ? undefined : { server, load, all };
}

/** "0-3,6": "pid 1's current affinity list" is written so. */
function parseList(text: string): number[] {
  return text.split(',').flatMap((part) => {
    const [first, last = first] = part.split('-').map(Number);
    return Array.from({ length: last! - first! + 1 }, (_, n) => first! + n);
  });
}

/** Keep this process, with all its threads, on the core for the load. */
export function pinLoad(): void {
  if (cores !== undefined) spawnSync('taskset', ['-a', '-p', '-c', String(cores.load), String(process.pid)]);
}

/** A command with its arguments, kept on the n-th core; where there are not so many, on the last. */
export function pinned(n: number, command: string, args: readonly string[]): [command: string, args: string[]] {
  if (cores === undefined) return [command, [...args]];
  return ['taskset', ['-c', String(cores.all[n] ?? cores.load), command, ...args]];
}

/** The command that starts `node` on a core, the server's unless told otherwise. */
export function pinnedNode(n = 0): { execPath: string; execArgv: string[] } {
  const [execPath, execArgv] = pinned(n, process.execPath, []);
  return { execPath, execArgv };
}
