/** Rows about what stays on the heap: of a session that does nothing, of a call that is over. */
import type { Settings } from '../bench-server';
import { LoadGenerator } from '../load/load-generator';
import { echoCall, legacyRequest } from '../load/requests';
import { beginSessions, endSessions } from '../load/sessions';
import { digits, single } from '../row';
import type { Row } from '../row';
import { ServerProcess, withServers } from '../server-process';

const sessionCount = 10_000;

const heapPerSession: Row = {
  id: 'heap-session',
  measure: `heap per idle session of ${sessionCount.toLocaleString('en')}, 1,000 tools`,
  against: '',
  unit: 'bytes',
  goal: 800,
  async method({ repeats }) {
    const settings: Settings = { tools: 1_000, users: true };
    const values: number[] = [];
    for (let repeat = 0; repeat < repeats; repeat += 1) {
      values.push(await withServers([ServerProcess.start('express-mcp', settings)], bytesPerSession));
    }
    return single(values, 'principal and capabilities included');
  },
};

async function bytesPerSession(server: ServerProcess): Promise<number> {
  const users = true;
  // What the first sessions leave behind (compiled code, buffers) is no session's.
  await endSessions(server.port, await beginSessions(server.port, 1_000, { users }), { users });
  const before = await server.ask({ what: 'heap' });
  await beginSessions(server.port, sessionCount, { users });
  return ((await server.ask({ what: 'heap' })) - before) / sessionCount;
}

const heapPerCall: Row = {
  id: 'heap-call',
  measure: 'heap kept per call, one session',
  against: 'beyond what the hand-written route keeps',
  unit: 'bytes',
  goal: 1,
  async method({ calls, rounds }) {
    const servers = [ServerProcess.start('express-mcp'), ServerProcess.start('express-route')];
    return withServers(servers, async (subject, baseline) => {
      const [sessionId] = await beginSessions(subject!.port, 1);
      const request = [legacyRequest(sessionId!, 'tools/call', echoCall)];
      const kept = async (server: ServerProcess) => {
        const before = await server.ask({ what: 'heap' });
        const load = await LoadGenerator.open(server.port, request);
        await load.run({ total: Math.ceil(calls / rounds) });
        load.close();
        return ((await server.ask({ what: 'heap' })) - before) / Math.ceil(calls / rounds);
      };
      const [ours, theirs]: [number[], number[]] = [[], []];
      for (let round = -1; round < rounds; round += 1) {
        const pair = [await kept(subject!), await kept(baseline!)];
        // The first round is for what is made once.
        if (round < 0) continue;
        ours.push(pair[0]!);
        theirs.push(pair[1]!);
      }
      const beyond = ours.map((value, round) => value - theirs[round]!);
      const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
      return { ...single(beyond, `${digits(mean(ours))} − ${digits(mean(theirs))} B, ${calls} calls`) };
    });
  },
};

export const memoryRows: readonly Row[] = [heapPerSession, heapPerCall];
