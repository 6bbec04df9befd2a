/** The row about a process that starts: from nothing to its first answer. */
import type { ServerName } from '../bench-server';
import { LoadGenerator } from '../load/load-generator';
import { echoCall, modernRequest } from '../load/requests';
import { ratio } from '../row';
import type { Row } from '../row';
import { ServerProcess, withServers } from '../server-process';

const coldStart: Row = {
  id: 'cold-start',
  measure: 'cold start to the first answer',
  against: 'hand-written route, express and zod',
  unit: 'times',
  goal: 1.15,
  async method({ starts }) {
    const series: [number[], number[]] = [[], []];
    // The first start of each is for the disk.
    for (let start = -1; start < starts; start += 1) {
      const pair = [await startMs('express-mcp'), await startMs('express-route')];
      if (start >= 0) pair.forEach((value, side) => series[side]!.push(value));
    }
    return ratio(...series, 'ms');
  },
};

async function startMs(server: ServerName): Promise<number> {
  const before = performance.now();
  return withServers([ServerProcess.start(server)], async (process) => {
    const load = await LoadGenerator.open(process!.port, [modernRequest('tools/call', echoCall)], { connections: 1 });
    await load.run({ total: 1 });
    load.close();
    return performance.now() - before;
  });
}

export const startRows: readonly Row[] = [coldStart];
