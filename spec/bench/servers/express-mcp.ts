/** This package: in an Express app, behind its body parser, under Connect, or on a plain server. */
import express from 'express';
import { allow, allowAll, McpServer, mcpRouter } from 'express-mcp';
import type { McpRouter, McpRouterOptions, SessionStore } from 'express-mcp';
import * as z from 'zod';
import { fillers, megabyte } from '../bench-server';
import type { BenchServer, Settings } from '../bench-server';

const Text = z.object({ text: z.string() });

export async function createBenchServer(settings: Settings): Promise<BenchServer> {
  const { mount = 'express', tools = 0, authorizer, users, redis, idleMs } = settings;
  const server = new McpServer(
    { name: 'bench', version: '1.0.0' },
    {
      authorizer: authorizer ? () => allow() : allowAll,
      readAuthorizer: allowAll,
      pageSize: 10_000,
      ...(redis !== undefined && { secrets: ['a secret that all nodes have, of 32 bytes'] }),
    },
  );
  server.registerTool('echo', { inputSchema: Text }, ({ text }) => text);
  server.registerTool('big', { inputSchema: z.object({}) }, () => megabyte);
  server.registerTool('measure', { inputSchema: Text }, ({ text }) => String(text.length));
  for (const { name, description } of fillers(tools)) {
    server.registerTool(name, { description, inputSchema: Text }, ({ text }) => text);
  }

  const options: McpRouterOptions = {
    maxSessions: 1_000_000,
    ...(users && { principal: (req) => req.headers['x-user'] as string | undefined }),
    ...(idleMs !== undefined && { sessionIdleMs: idleMs }),
    ...(redis !== undefined && { sessions: await sharedSessions(redis) }),
  };
  const router = mcpRouter(server, mount === 'plain' ? { ...options, path: '/mcp' } : options);
  return {
    listener: await mounted(mount, router),
    announce: () => server.notifyToolsChanged(),
  };
}

async function sharedSessions(url: string): Promise<SessionStore> {
  // Here, so that the cold start does not pay for it.
  const [{ createClient }, { redisSessions }] = await Promise.all([import('redis'), import('express-mcp/redis')]);
  return redisSessions({ client: createClient({ url }) });
}

async function mounted(mount: NonNullable<Settings['mount']>, router: McpRouter): Promise<BenchServer['listener']> {
  switch (mount) {
    case 'plain':
      return (req, res) => router(req, res);
    case 'connect': {
      // Here, so that the cold start does not pay for it.
      const { default: connect } = await import('connect');
      return connect().use('/mcp', router);
    }
    case 'parsed':
      return express()
        .use(express.json({ limit: '4mb' }))
        .use('/mcp', router);
    default:
      return express().use('/mcp', router);
  }
}
