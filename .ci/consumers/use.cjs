// A CommonJS project that uses the installed package: by call, and over HTTP.
'use strict';
const assert = require('node:assert/strict');
const { once } = require('node:events');
const express = require('express');
const { McpServer, ToolError, mcpRouter } = require('express-mcp');
const { fetchOptions, modernCall } = require('./modern-call.cjs');

// What only a subpath needs is not loaded with the package: those who do not have it can do without.
const loaded = Object.keys(require.cache).filter((file) => /node_modules\/(redis|@redis|@opentelemetry)\//.test(file));
assert.deepEqual(loaded, []);

async function main() {
  assert.equal((await import('express-mcp')).ToolError, ToolError);

  const server = new McpServer({ name: 'cjs', version: '1.0.0' });
  const inputSchema = { type: 'object', properties: { who: { type: 'string' } }, required: ['who'] };
  server.registerTool('greet', { inputSchema }, ({ who }) => `Hello ${who}`);

  const direct = await server.handleMessage(modernCall('greet', { who: 'Ada' }));
  assert.equal(direct.result.content[0].text, 'Hello Ada');

  const http = express().use('/mcp', mcpRouter(server)).listen(0, '127.0.0.1');
  await once(http, 'listening');
  const url = `http://127.0.0.1:${http.address().port}/mcp`;
  const answer = await (await fetch(url, fetchOptions(modernCall('greet', { who: 'Grace' })))).json();
  assert.equal(answer.result.content[0].text, 'Hello Grace');
  const refused = await (await fetch(url, fetchOptions(modernCall('greet', { who: 7 })))).json();
  assert.equal(refused.result.isError, true);
  http.close();
  http.closeAllConnections();
}

main();
