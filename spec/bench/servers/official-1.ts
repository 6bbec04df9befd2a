/** The official SDK 1.x with sessions, answering JSON, wired as its examples wire it. */
import { randomUUID } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import express from 'express';
import * as z from 'zod';
import { fillers } from '../bench-server';
import type { BenchServer, Settings } from '../bench-server';

export function createBenchServer({ tools = 0 }: Settings): BenchServer {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const app = express();
  app.use(express.json());
  app.all('/mcp', async (req, res) => {
    const known = transports.get(req.get('Mcp-Session-Id') ?? '');
    if (known !== undefined) return known.handleRequest(req, res, req.body);
    if (!isInitializeRequest(req.body)) return void res.status(404).end();
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      enableJsonResponse: true,
      onsessioninitialized: (sessionId) => void transports.set(sessionId, transport),
    });
    transport.onclose = () => void transports.delete(transport.sessionId ?? '');
    await createMcpServer(tools).connect(transport as Parameters<McpServer['connect']>[0]);
    return transport.handleRequest(req, res, req.body);
  });
  return { listener: app };
}

function createMcpServer(tools: number): McpServer {
  const server = new McpServer({ name: 'bench', version: '1.0.0' });
  const inputSchema = { text: z.string() };
  server.registerTool('echo', { inputSchema }, ({ text }) => ({ content: [{ type: 'text', text }] }));
  for (const { name, description } of fillers(tools)) {
    server.registerTool(name, { description, inputSchema }, ({ text }) => ({ content: [{ type: 'text', text }] }));
  }
  return server;
}
