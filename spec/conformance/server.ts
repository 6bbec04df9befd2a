// node -r esbuild-register spec/conformance/server.ts
/**
 * The server that the official conformance suite drives: `/mcp`, and `/streams`, where every reply is a stream. Prints its
 * URL. With `REDIS_URL` it is one node of several.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { allowAll, McpServer, mcpRouter } from 'express-mcp';
import type { McpRouterOptions } from 'express-mcp';
import { redisSessions } from 'express-mcp/redis';
import { createClient } from 'redis';
import { registerBaseTools } from './base-tools';
import { registerDiagnostics } from './diagnostics';
import { registerQuestions } from './questions';
import { registerReads } from './reads';

const { PORT = '0', REDIS_URL } = process.env;

const server = new McpServer(
  { name: 'express-mcp-conformance', version: '1.0.0' },
  { authorizer: allowAll, readAuthorizer: allowAll, secrets: ['a secret that all nodes have, of 32 bytes'] },
);
registerBaseTools(server);
registerQuestions(server);
registerDiagnostics(server);
registerReads(server);

/** What both mounts have; sessions are shared by the nodes, never by the mounts. */
function optionsOf(prefix: string): McpRouterOptions {
  if (REDIS_URL === undefined) return { retryMs: 100 };
  return { retryMs: 100, sessions: redisSessions({ client: createClient({ url: REDIS_URL }), prefix }) };
}

const app = express();
app.use('/mcp', mcpRouter(server, optionsOf('mcp')));
app.use('/streams', mcpRouter(server, { ...optionsOf('streams'), stream: 'always' }));
const httpServer = createServer(app);
httpServer.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(httpServer.address() as AddressInfo).port}`);
});
// A node ends with the process that has started it.
process.once('disconnect', () => process.exit());
