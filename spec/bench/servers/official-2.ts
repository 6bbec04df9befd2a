/** The official SDK 2.x: sessions, the modern handler, or both on one endpoint as its documentation wires them. */
import { randomUUID } from 'node:crypto';
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node';
import { createMcpHandler, isInitializeRequest, isLegacyRequest, McpServer } from '@modelcontextprotocol/server';
import express from 'express';
import type { Request, Response } from 'express';
import * as z from 'zod';
import { fillers } from '../bench-server';
import type { BenchServer, Settings } from '../bench-server';

export function createBenchServer({ eras = 'both', tools = 0 }: Settings): BenchServer {
  const modern = toNodeHandler(createMcpHandler(() => createMcpServer(tools), { legacy: 'reject' }));
  const sessions = createSessions(tools);
  const app = express();
  app.use(express.json());
  app.all('/mcp', async (req, res) => {
    if (eras === 'modern') return modern(req, res, req.body);
    if (eras === 'sessions') return sessions(req, res);
    const probe = await toWebRequest(req, req.body);
    return (await isLegacyRequest(probe)) ? sessions(req, res) : modern(req, res, req.body);
  });
  return { listener: app };
}

function createSessions(tools: number): (req: Request, res: Response) => Promise<void> {
  const transports = new Map<string, NodeStreamableHTTPServerTransport>();
  return async function serveSession(req, res) {
    const known = transports.get(req.get('Mcp-Session-Id') ?? '');
    if (known !== undefined) return known.handleRequest(req, res, req.body);
    if (!isInitializeRequest(req.body)) return void res.status(404).end();
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      enableJsonResponse: true,
      onsessioninitialized: (sessionId) => void transports.set(sessionId, transport),
    });
    transport.onclose = () => void transports.delete(transport.sessionId ?? '');
    await createMcpServer(tools).connect(transport);
    return transport.handleRequest(req, res, req.body);
  };
}

function createMcpServer(tools: number): McpServer {
  const server = new McpServer({ name: 'bench', version: '1.0.0' });
  const inputSchema = z.object({ text: z.string() });
  server.registerTool('echo', { inputSchema }, ({ text }) => ({ content: [{ type: 'text', text }] }));
  for (const { name, description } of fillers(tools)) {
    server.registerTool(name, { description, inputSchema }, ({ text }) => ({ content: [{ type: 'text', text }] }));
  }
  return server;
}
