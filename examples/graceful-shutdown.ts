// node -r esbuild-register examples/graceful-shutdown.ts
/** Ends well: on SIGTERM running calls finish, then streams and sessions end, then the process does. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import express from 'express';
import { McpServer, mcpRouter } from 'express-mcp';
import * as z from 'zod';

const { PORT = '3007' } = process.env;
const server = new McpServer({ name: 'graceful-shutdown', version: '1.0.0' });

server.registerTool(
  'wait',
  { description: 'Take a while', inputSchema: z.object({ ms: z.number().int().min(0).max(60_000) }) },
  async ({ ms }, context) => {
    context.progress(0, ms, 'Waiting');
    // The signal aborts when the client cancels, and when the grace is over.
    await sleep(ms, undefined, { signal: context.signal });
    return `Waited ${ms} ms`;
  },
);

const router = mcpRouter(server);
const app = express();
app.use('/mcp', router);
const http = app.listen(Number(PORT), '127.0.0.1', (error) => {
  if (error) throw error;
  console.log(`MCP endpoint: http://127.0.0.1:${PORT}/mcp, process ${process.pid}: send it SIGTERM`);
});

async function shutDown(): Promise<void> {
  // No new connections. On those that are open, new requests get 503 from here on.
  const closed = once(http, 'close');
  http.close();
  console.log('Closing');
  await router.close({ graceMs: 10_000 });
  // Connections that clients keep open for their next request would keep the process.
  http.closeIdleConnections();
  await closed;
  console.log('Closed');
}

process.once('SIGTERM', () => void shutDown());
