// node -r esbuild-register spec/conformance/server.ts
/** The server that the official conformance suite drives: `/mcp`, and `/streams`, where every reply is a stream. Prints its URL. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { allowAll, McpServer, mcpRouter } from 'express-mcp';
import { registerBaseTools } from './base-tools';
import { registerDiagnostics } from './diagnostics';
import { registerQuestions } from './questions';
import { registerReads } from './reads';

const server = new McpServer(
  { name: 'express-mcp-conformance', version: '1.0.0' },
  { authorizer: allowAll, readAuthorizer: allowAll },
);
registerBaseTools(server);
registerQuestions(server);
registerDiagnostics(server);
registerReads(server);

const app = express();
app.use('/mcp', mcpRouter(server, { retryMs: 100 }));
app.use('/streams', mcpRouter(server, { retryMs: 100, stream: 'always' }));
const httpServer = createServer(app);
httpServer.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(httpServer.address() as AddressInfo).port}`);
});
