// A walk through the built package over real sockets, without a test runner: for Node versions and Express versions
// other than the ones the specs run on. `node spec/smoke/smoke.mjs [express|express4]`, after `npm run build`.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { McpServer, ToolError, allow, allowAll, bearerAuth, deny, mcpRouter } from 'express-mcp';
import * as z from 'zod';

const expressName = process.argv[2] ?? 'express';
const { default: express } = await import(expressName);
const modernRevision = '2026-07-28';
const legacyRevision = '2025-11-25';
const meta = {
  'io.modelcontextprotocol/protocolVersion': modernRevision,
  'io.modelcontextprotocol/clientInfo': { name: 'smoke', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

let passed = 0;
let failed = 0;
const aborted = [];

async function check(name, run) {
  try {
    await run();
    passed += 1;
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}\n${error.stack}`);
  }
}

function createMcpServer(options) {
  const server = new McpServer({ name: 'smoke', version: '1.0.0' }, options);
  const inputSchema = z.object({ a: z.number(), b: z.number() });
  const outputSchema = z.object({ sum: z.number() });
  server.registerTool('add', { inputSchema, outputSchema }, ({ a, b }) => ({ sum: a + b }));
  const plain = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
  server.registerTool('echo', { inputSchema: plain }, ({ text }) => text);
  server.registerTool('count', {}, async (_args, context) => {
    for (const step of [1, 2, 3]) {
      context.progress(step, 3);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return 'counted';
  });
  server.registerTool('hold', {}, async (_args, context) => {
    await new Promise((resolve) => context.signal.addEventListener('abort', resolve, { once: true }));
    aborted.push(context.requestId);
    return 'aborted';
  });
  server.registerTool('fails', {}, () => {
    throw new ToolError('No such city');
  });
  return server;
}

async function listen(handler) {
  const http = createServer(handler).listen(0, '127.0.0.1');
  await once(http, 'listening');
  return { http, url: `http://127.0.0.1:${http.address().port}/mcp` };
}

/** POST one message; the messages that come back, however they come. */
async function post(url, body, headers = {}, signal) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    signal,
  });
  const text = await response.text();
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
  const messages = isStream ? messagesOf(text) : text === '' ? [] : [JSON.parse(text)];
  return { status: response.status, headers: response.headers, isStream, messages, last: messages.at(-1) };
}

function messagesOf(text) {
  const data = text.split('\n').filter((line) => line.startsWith('data: {')); // not the empty event that primes a stream
  return data.map((line) => JSON.parse(line.slice(6)));
}

function modern(url, method, params = {}, headers = {}, signal) {
  const named = params.name === undefined ? {} : { 'Mcp-Name': params.name };
  const body = { jsonrpc: '2.0', id: 7, method, params: { ...params, _meta: { ...meta, ...params._meta } } };
  const mirrored = { 'MCP-Protocol-Version': modernRevision, 'Mcp-Method': method, ...named };
  return post(url, body, { ...mirrored, ...headers }, signal);
}

async function openSession(url, headers = {}) {
  const clientInfo = { name: 'smoke', version: '1.0.0' };
  const params = { protocolVersion: legacyRevision, capabilities: {}, clientInfo };
  const opened = await post(url, { jsonrpc: '2.0', id: 0, method: 'initialize', params }, headers);
  assert.equal(opened.status, 200);
  assert.equal(opened.last.result.protocolVersion, legacyRevision);
  const id = opened.headers.get('mcp-session-id');
  const all = { ...headers, 'Mcp-Session-Id': id, 'MCP-Protocol-Version': legacyRevision };
  const request = (method, params = {}, requestId = 1) =>
    post(url, { jsonrpc: '2.0', id: requestId, method, params }, all);
  const initialized = await post(url, { jsonrpc: '2.0', method: 'notifications/initialized' }, all);
  assert.equal(initialized.status, 202);
  return { id, headers: all, request };
}

async function checkLegacy(url, server) {
  const session = await openSession(url);

  await check('legacy: lists and calls', async () => {
    const list = await session.request('tools/list');
    assert.deepEqual(
      list.last.result.tools.map(({ name }) => name),
      ['add', 'echo', 'count', 'hold', 'fails'],
    );
    const sum = await session.request('tools/call', { name: 'add', arguments: { a: 2, b: 3 } }, 'a-string-id');
    assert.equal(sum.last.id, 'a-string-id');
    assert.deepEqual(sum.last.result.structuredContent, { sum: 5 });
    const wrong = await session.request('tools/call', { name: 'add', arguments: { a: 'two', b: 3 } });
    assert.equal(wrong.last.result.isError, true);
    const failure = await session.request('tools/call', { name: 'fails', arguments: {} });
    assert.equal(failure.last.result.content[0].text, 'No such city');
  });

  await check('legacy: progress turns the reply into a stream', async () => {
    const params = { name: 'count', arguments: {}, _meta: { progressToken: 'p' } };
    const counted = await session.request('tools/call', params);
    assert.ok(counted.isStream);
    const steps = counted.messages.filter(({ method }) => method === 'notifications/progress');
    assert.deepEqual(
      steps.map(({ params: { progress, progressToken } }) => [progress, progressToken]),
      [
        [1, 'p'],
        [2, 'p'],
        [3, 'p'],
      ],
    );
    assert.equal(counted.last.result.content[0].text, 'counted');
  });

  await check('legacy: the session stream carries a change of the tools', async () => {
    const response = await fetch(url, { headers: { ...session.headers, Accept: 'text/event-stream' } });
    assert.equal(response.status, 200);
    const handle = server.registerTool('later', {}, () => 'later');
    let text = '';
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.includes('notifications/tools/list_changed')) break; // leaving the loop closes the stream
    }
    assert.ok(text.includes('notifications/tools/list_changed'));
    handle.remove();
  });

  await check('legacy: an ended session is gone, an unknown one never was', async () => {
    const ended = await fetch(url, { method: 'DELETE', headers: session.headers });
    assert.equal(ended.status, 204);
    assert.equal((await session.request('tools/list')).status, 404);
    const headers = { 'Mcp-Session-Id': 'no-such-session-anywhere', 'MCP-Protocol-Version': legacyRevision };
    assert.equal((await post(url, { jsonrpc: '2.0', id: 1, method: 'ping' }, headers)).status, 404);
  });
}

async function checkModern(url) {
  await check('modern: discovers, lists and calls', async () => {
    const discovered = await modern(url, 'server/discover');
    assert.deepEqual(discovered.last.result.supportedVersions, [modernRevision]);
    assert.equal((await modern(url, 'tools/list')).last.result.tools.length, 5);
    const sum = await modern(url, 'tools/call', { name: 'add', arguments: { a: 2, b: 3 } });
    assert.equal(sum.last.id, 7);
    assert.deepEqual(sum.last.result.structuredContent, { sum: 5 });
  });

  await check('modern: progress turns the reply into a stream', async () => {
    const params = { name: 'count', arguments: {}, _meta: { progressToken: 1 } };
    const counted = await modern(url, 'tools/call', params);
    assert.ok(counted.isStream);
    assert.equal(counted.messages.filter(({ method }) => method === 'notifications/progress').length, 3);
    assert.equal(counted.last.result.content[0].text, 'counted');
  });

  await check('modern: headers are held against the body', async () => {
    const other = await modern(url, 'tools/call', { name: 'echo', arguments: { text: 'x' } }, { 'Mcp-Name': 'add' });
    assert.deepEqual([other.status, other.last.error.code], [400, -32020]);
    const unknown = await modern(url, 'no/such/method');
    assert.deepEqual([unknown.status, unknown.last.error.code], [404, -32601]);
  });

  await check('modern: a client that goes away cancels its call', async () => {
    const leaving = new AbortController();
    const before = aborted.length;
    const held = modern(url, 'tools/call', { name: 'hold', arguments: {} }, {}, leaving.signal);
    setTimeout(() => leaving.abort(), 100);
    await assert.rejects(held, { name: 'AbortError' });
    for (let turn = 0; turn < 100 && aborted.length === before; turn += 1) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assert.equal(aborted.length, before + 1);
  });
}

async function checkRefusals(url) {
  await check('bad input gets a JSON-RPC error', async () => {
    const malformed = await post(url, '{"jsonrpc":"2.0"');
    assert.deepEqual([malformed.status, malformed.last.error.code], [400, -32700]);
    const large = await post(url, JSON.stringify({ text: 'x'.repeat(5 * 1024 * 1024) }));
    assert.equal(large.status, 413);
    const foreign = await post(url, '{}', { Origin: 'https://evil.example' });
    assert.equal(foreign.status, 403);
    assert.equal((await post(url, '{}', { 'Content-Type': 'text/plain' })).status, 415);
  });
}

await check('the main walk', async () => {
  const server = createMcpServer({ authorizer: allowAll, readAuthorizer: allowAll });
  const router = mcpRouter(server);
  const app = express()
    .use('/mcp', router)
    .get('/health', (_req, res) => res.send('ok'));
  const { http, url } = await listen(app);
  await checkLegacy(url, server);
  await checkModern(url);
  await checkRefusals(url);
  await check("the host's other routes are untouched", async () => {
    assert.equal(await (await fetch(new URL('/health', url))).text(), 'ok');
  });
  await check('close() ends what is open', async () => {
    await openSession(url);
    await router.close({ graceMs: 0 });
    assert.equal(router.stats().sessions, 0);
  });
  http.close();
  http.closeAllConnections();
});

await check('the walk behind express.json() and a token', async () => {
  const authorizer = ({ name }) => (name === 'echo' ? deny('not for you') : allow());
  const server = createMcpServer({ authorizer, readAuthorizer: allowAll });
  const verify = (token) => (token === 'secret' ? { principal: 'ada' } : null);
  const router = mcpRouter(server);
  const { http, url } = await listen(express().use(express.json()).use('/mcp', bearerAuth({ verify }), router));
  const headers = { Authorization: 'Bearer secret' };
  assert.equal((await modern(url, 'tools/list')).status, 401);
  const session = await openSession(url, headers);
  const sum = await session.request('tools/call', { name: 'add', arguments: { a: 2, b: 3 } });
  assert.deepEqual(sum.last.result.structuredContent, { sum: 5 });
  const denied = await modern(url, 'tools/call', { name: 'echo', arguments: { text: 'x' } }, headers);
  assert.ok(denied.last.error ?? denied.last.result.isError);
  await router.close({ graceMs: 0 });
  http.close();
  http.closeAllConnections();
});

await check('the endpoint without Express', async () => {
  const server = createMcpServer({ authorizer: allowAll, readAuthorizer: allowAll });
  const router = mcpRouter(server, { path: '/mcp' });
  const { http, url } = await listen(router);
  const sum = await modern(url, 'tools/call', { name: 'add', arguments: { a: 2, b: 3 } });
  assert.deepEqual(sum.last.result.structuredContent, { sum: 5 });
  assert.equal((await fetch(new URL('/elsewhere', url))).status, 404);
  await router.close({ graceMs: 0 });
  http.close();
  http.closeAllConnections();
});

// Nothing of ours may hold the process: it ends by itself, and this timer only speaks up when it does not.
setTimeout(() => {
  console.log(`FAIL  the process ends by itself\nstill open: ${process.getActiveResourcesInfo().join(', ')}`);
  process.exit(1);
}, 5_000).unref();

console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
