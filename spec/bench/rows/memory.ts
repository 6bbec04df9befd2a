/** Rows about what stays on the heap: of a session that does nothing, of a call that is over. */
import type { Settings } from '../bench-server';
import { defaultConnections, LoadGenerator } from '../load/load-generator';
import { echoCall, legacyRequest } from '../load/requests';
import type { WireRequest } from '../load/requests';
import { beginSessions, endSessions } from '../load/sessions';
import { digits, median, single } from '../row';
import type { Row } from '../row';
import { ServerProcess, withServers } from '../server-process';

const sessionCount = 10_000;

const heapPerSession: Row = {
  id: 'heap-session',
  measure: 'heap per idle session of 10,000',
  against: '',
  unit: 'bytes',
  goal: 800,
  async method({ repeats }) {
    const settings: Settings = { tools: 1_000, users: true };
    const values: number[] = [];
    for (let repeat = 0; repeat < repeats; repeat += 1) {
      values.push(
        await withServers([ServerProcess.start('express-mcp', settings)], (server) => bytesPerSession(server!)),
      );
    }
    return single(values, '1,000 tools');
  },
};

async function bytesPerSession(server: ServerProcess): Promise<number> {
  const users = true;
  // What the first sessions leave behind (compiled code, buffers) is no session's.
  await endSessions(server.port, await beginSessions(server.port, 1_000, { users }), { users });
  const before = await server.ask({ what: 'heap', connections: 0 });
  await beginSessions(server.port, sessionCount, { users });
  return ((await server.ask({ what: 'heap', connections: 0 })) - before) / sessionCount;
}

/** Few and long: the heap of an idle process is not the same twice, and its tremor is shared among the calls of a round. */
const rounds = 4;

const heapPerCall: Row = {
  id: 'heap-call',
  measure: 'heap kept per call, one session',
  against: 'beyond what raw node:http keeps',
  unit: 'bytes',
  goal: 1,
  async method({ calls }) {
    // Without Express, which keeps nothing either and takes longer over it.
    const servers = [ServerProcess.start('express-mcp', { mount: 'plain' }), ServerProcess.start('raw-http')];
    return withServers(servers, async (subject, baseline) => {
      const [sessionId] = await beginSessions(subject!.port, 1);
      const requests = [legacyRequest(sessionId!, 'tools/call', echoCall)];
      const each = calls / rounds;
      const kept = await keptPerCall(subject!, requests, each);
      const noise = await keptPerCall(baseline!, requests, each);
      const beyond = kept.map((bytes, round) => bytes - noise[round]!);
      return single(beyond, `${digits(median(kept))} − ${digits(median(noise))} B, ${calls} calls`);
    });
  },
};

/** Bytes per call, in each round. The connections stay open, since they weigh more than what is looked for. */
async function keptPerCall(server: ServerProcess, requests: readonly WireRequest[], calls: number): Promise<number[]> {
  const load = await LoadGenerator.open(server.port, requests);
  const heap = () => server.ask({ what: 'heap', connections: defaultConnections });
  try {
    const kept: number[] = [];
    // The first rounds are for what is made once.
    for (let round = -2; round < rounds; round += 1) {
      const before = await heap();
      await load.run({ total: calls });
      if (round >= 0) kept.push(((await heap()) - before) / calls);
    }
    return kept;
  } finally {
    load.close();
  }
}

export const memoryRows: readonly Row[] = [heapPerSession, heapPerCall];
