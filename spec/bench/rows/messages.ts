/** Rows about the CPU time of other messages: a long list, the beginning of a session, a megabyte either way. */
import { megabyte } from '../bench-server';
import type { Settings } from '../bench-server';
import type { Contender } from '../contenders';
import { sendAll } from '../load/load-generator';
import { bodyOf } from '../load/reply-reader';
import { initialize, modernRequest } from '../load/requests';
import type { Row } from '../row';
import { ServerProcess, withServers } from '../server-process';

const manyTools: Settings = { tools: 1_000 };
const listRequests = () => [modernRequest('tools/list')];

/** What the list is, for the route that sends it as a constant. */
async function listBody(): Promise<string> {
  return withServers([ServerProcess.start('express-mcp', manyTools)], async (server) => {
    let body = '';
    await sendAll(server!.port, listRequests(), { onReply: (reply) => void (body = bodyOf(reply)) });
    return body;
  });
}

const list: Row = {
  id: 'list',
  measure: 'tools/list of 1,000 tools, modern',
  against: 'the same bytes from a constant',
  unit: 'times',
  goal: 1.2,
  method: [
    { server: 'express-mcp', settings: manyTools, requests: listRequests },
    // A constant repeats no id.
    {
      server: 'express-route',
      settings: async () => ({ list: await listBody() }),
      requests: listRequests,
      exact: false,
    },
  ],
};

/** The same requests to us and to the hand-written route. */
function besideRoute(
  row: Pick<Row, 'id' | 'measure' | 'against' | 'goal'>,
  requests: Contender['requests'],
  options: Pick<Contender, 'connections' | 'alone'>,
): Row {
  const method = [
    { server: 'express-mcp', requests, ...options },
    { server: 'express-route', requests, ...options },
  ] as const;
  return { ...row, unit: 'times', method };
}

const against = 'hand-written route';

export const messageRows: readonly Row[] = [
  list,
  besideRoute(
    { id: 'initialize', measure: 'initialize to session', against: `${against} that stores one`, goal: 0.8 },
    () => [initialize()],
    { alone: true },
  ),
  besideRoute(
    { id: 'result-1mb', measure: '1 MB result, modern', against, goal: 1 },
    () => [modernRequest('tools/call', { name: 'big', arguments: {} })],
    { connections: 10 },
  ),
  besideRoute(
    { id: 'argument-1mb', measure: '1 MB argument, modern', against, goal: 1 },
    () => [modernRequest('tools/call', { name: 'measure', arguments: { text: megabyte } })],
    { connections: 10 },
  ),
];
