/** The route that one would write by hand, in Express 5: `express.json()`, `res.json()`, a schema, a map of sessions. */
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import express from 'express';
import type { Request, Response } from 'express';
import * as z from 'zod';
import { megabyte } from '../bench-server';
import type { BenchServer, Settings } from '../bench-server';

const Text = z.object({ text: z.string() });

interface Session {
  principal: string | undefined;
  protocolVersion: string;
  clientInfo: unknown;
  capabilities: unknown;
  createdAt: number;
}

interface Message {
  id: number;
  method: string;
  params: { name: string; arguments: unknown; protocolVersion: string; clientInfo: unknown; capabilities: unknown };
}

export function createBenchServer({ list }: Settings): BenchServer {
  const app = express();
  const sessions = new Map<string, Session>();
  const streams = new Set<ServerResponse>();
  const listBytes = Buffer.from(list ?? '');

  app.post('/mcp', express.json({ limit: '4mb' }), (req: Request, res: Response) => {
    const { id, method, params } = req.body as Message;
    switch (method) {
      case 'tools/call': {
        const text = call(params.name, params.arguments);
        res.json({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } });
        return;
      }
      case 'tools/list':
        res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': listBytes.length });
        res.end(listBytes);
        return;
      case 'initialize': {
        const { protocolVersion, clientInfo, capabilities } = params;
        const sessionId = randomUUID();
        const principal = req.get('X-User');
        sessions.set(sessionId, { principal, protocolVersion, clientInfo, capabilities, createdAt: Date.now() });
        const serverInfo = { name: 'bench', version: '1.0.0' };
        const result = { protocolVersion, capabilities: { tools: { listChanged: true } }, serverInfo };
        res.set('Mcp-Session-Id', sessionId).json({ jsonrpc: '2.0', id, result });
        return;
      }
      case 'subscriptions/listen':
        stream(req, res);
        return;
      default:
        res.status(202).end();
    }
  });

  app.get('/mcp', stream);

  function stream(_req: Request, res: Response): void {
    res.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' });
    res.flushHeaders();
    streams.add(res);
    res.on('close', () => streams.delete(res));
  }

  return {
    listener: app,
    announce(frame) {
      for (const stream of streams) stream.write(frame);
    },
  };
}

function call(name: string, input: unknown): string {
  if (name === 'big') return megabyte;
  const { text } = Text.parse(input);
  return name === 'measure' ? String(text.length) : text;
}
