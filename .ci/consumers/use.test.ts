// A plain CommonJS Jest project with ts-jest that tests its own tool through the installed package.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { McpServer, mcpRouter } from 'express-mcp';
import * as z from 'zod';
import { fetchOptions, modernCall } from './modern-call.cjs';

const server = new McpServer({ name: 'jest', version: '1.0.0' });
server.registerTool('greet', { inputSchema: z.object({ who: z.string() }) }, ({ who }) => `Hello ${who}`);

test('a tool answers a message', async () => {
  expect(await server.handleMessage(modernCall('greet', { who: 'Ada' }))).toMatchObject({
    id: 1,
    result: { content: [{ type: 'text', text: 'Hello Ada' }] },
  });
});

test('a tool answers over HTTP', async () => {
  const http = express().use('/mcp', mcpRouter(server)).listen(0, '127.0.0.1');
  await once(http, 'listening');
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  const answer = await fetch(url, fetchOptions(modernCall('greet', { who: 'Grace' })));
  expect(await answer.json()).toMatchObject({ result: { content: [{ type: 'text', text: 'Hello Grace' }] } });
  http.close();
  http.closeAllConnections();
});
