// An ESM project that uses the installed package: by call, and over HTTP.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import express from 'express';
import { ErrorCode, McpError, McpServer, ToolError, mcpRouter } from 'express-mcp';
import * as z from 'zod';
import { fetchOptions, modernCall } from './modern-call.cjs';

// One identity of every class, however it was loaded: `instanceof` holds across module systems.
const require = createRequire(import.meta.url);
const required = require('express-mcp');
assert.equal(required.ToolError, ToolError);
assert.equal(required.McpServer, McpServer);
assert.ok(new required.McpError(ErrorCode.InvalidParams, 'no') instanceof McpError);

// Every entry loads both ways, and gives the same things by name.
for (const subpath of Object.keys(require('express-mcp/package.json').exports)) {
  if (subpath === './package.json') continue;
  const entry = subpath.replace('.', 'express-mcp');
  const imported = await import(entry);
  for (const [name, value] of Object.entries(require(entry))) assert.equal(imported[name], value, `${entry}: ${name}`);
}

const server = new McpServer({ name: 'esm', version: '1.0.0' });
server.registerTool('greet', { inputSchema: z.object({ who: z.string() }) }, ({ who }) => {
  if (who === 'nobody') throw new required.ToolError('There is nobody to greet');
  return `Hello ${who}`;
});

const direct = await server.handleMessage(modernCall('greet', { who: 'Ada' }));
assert.equal(direct.result.content[0].text, 'Hello Ada');

const http = express().use('/mcp', mcpRouter(server)).listen(0, '127.0.0.1');
await once(http, 'listening');
const url = `http://127.0.0.1:${http.address().port}/mcp`;
const answer = await (await fetch(url, fetchOptions(modernCall('greet', { who: 'Grace' })))).json();
assert.equal(answer.result.content[0].text, 'Hello Grace');
const failure = await (await fetch(url, fetchOptions(modernCall('greet', { who: 'nobody' })))).json();
assert.equal(failure.result.isError, true);
assert.equal(failure.result.content[0].text, 'There is nobody to greet');
http.close();
http.closeAllConnections();
