/** One core for the measured server, another for the load; where there is no `taskset`, or no second core, the system decides. */
import { spawnSync } from 'node:child_process';

/** The two cores, or undefined where processes cannot be pinned. */
export const cores = findCores();

function findCores(): { server: number; load: number } | undefined {
  const { status, stdout } = spawnSync('taskset', ['-p', '-c', String(process.pid)], { encoding: 'utf8' });
  if (status !== 0) return undefined;
  // "pid 1's current affinity list: 0-3,6"
  const allowed = stdout.slice(stdout.lastIndexOf(':') + 1).match(/\d+/g)!;
  const [first, last] = [Number(allowed[0]), Number(allowed.at(-1))];
  return first === last ? undefined : { server: first, load: last };
}

/** Keep this process, with all its threads, on the core for the load. */
export function pinLoad(): void {
  if (cores !== undefined) spawnSync('taskset', ['-a', '-p', '-c', String(cores.load), String(process.pid)]);
}

/** The command that starts `node` on the server's core. */
export function pinnedNode(): { execPath: string; execArgv: string[] } {
  return cores === undefined
    ? { execPath: process.execPath, execArgv: [] }
    : { execPath: 'taskset', execArgv: ['-c', String(cores.server), process.execPath] };
}
