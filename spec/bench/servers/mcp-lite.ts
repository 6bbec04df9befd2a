/** mcp-lite with sessions in memory, in an Express app through Hono's adapter for Node. */
import { getRequestListener } from '@hono/node-server';
import express from 'express';
import * as z from 'zod';
import type { BenchServer } from '../bench-server';

export async function createBenchServer(): Promise<BenchServer> {
  const { InMemorySessionAdapter, McpServer, StreamableHttpTransport } = await import('mcp-lite');
  const server = new McpServer({
    name: 'bench',
    version: '1.0.0',
    schemaAdapter: (schema) => z.toJSONSchema(schema as z.ZodType),
  });
  server.tool('echo', {
    inputSchema: z.object({ text: z.string() }),
    handler: ({ text }) => ({ content: [{ type: 'text', text }] }),
  });
  const sessionAdapter = new InMemorySessionAdapter({ maxEventBufferSize: 1_024 });
  const serve = new StreamableHttpTransport({ sessionAdapter }).bind(server);
  return {
    listener: express().all(
      '/mcp',
      getRequestListener((request) => serve(request), { overrideGlobalObjects: false }),
    ),
  };
}
