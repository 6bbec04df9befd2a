/** What is HTTP's own in connect(): headers, statuses, streams. */
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import express from 'express';
import { allowAll, McpError, mcpRouter, McpServer } from 'express-mcp';
import { connect, HttpStatusError } from 'express-mcp/testing';
import type { ConnectOptions, ConnectTarget, TestClient } from 'express-mcp/testing';
import * as z from 'zod';
import { createFixture } from '../support/fixture';
import { closeListeners, listen } from '../support/listen';

const clients: TestClient[] = [];

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  await closeListeners();
});

async function open(target: ConnectTarget, options?: ConnectOptions): Promise<TestClient> {
  const client = await connect(target, options);
  clients.push(client);
  return client;
}

/** Answers `server/discover`, and everything else by `answer`. */
function fakeServer(answer: (req: IncomingMessage, res: ServerResponse, id: unknown) => void): RequestListener {
  return (req, res) => {
    let body = '';
    req.on('data', (part) => (body += String(part)));
    req.on('end', () => {
      const { id, method } = JSON.parse(body || '{}') as { id?: unknown; method?: string };
      if (method !== 'server/discover') return answer(req, res, id);
      const result = { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: {} };
      res.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
  };
}

describe('connect() over HTTP', () => {
  it('sends its headers with everything, in both eras', async () => {
    const fixture = await createFixture({ bearer: true });
    const headers = { authorization: 'Bearer alice-token' };
    for (const revision of ['2025-11-25', '2026-07-28']) {
      const client = await open(fixture.app, { revision, headers });
      expect((await client.callTool('caller')).content).toEqual([{ type: 'text', text: 'alice' }]);
    }
    await fixture.close();
  });

  it('tells status and headers of a refusal', async () => {
    const fixture = await createFixture({ bearer: true });
    for (const revision of ['2025-11-25', '2026-07-28']) {
      const error = (await connect(fixture.app, { revision }).catch((caught: unknown) => caught)) as McpError;
      expect(error).toBeInstanceOf(McpError);
      expect(error.cause).toBeInstanceOf(HttpStatusError);
      const { status, headers } = error.cause as HttpStatusError;
      expect([status, headers['www-authenticate']]).toEqual([401, expect.stringMatching(/^Bearer/)]);
    }
    await fixture.close();
  });

  it('shows what the host has answered instead of the endpoint', async () => {
    const app = express().use((_req, res) => void res.status(503).send('<h1>Closed for today</h1>'));
    const error = await connect(app).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(HttpStatusError);
    expect(error).toMatchObject({ status: 503, message: 'HTTP 503: <h1>Closed for today</h1>' });
  });

  it('says where it has looked for the endpoint', async () => {
    const server = new McpServer({ name: 'x', version: '1' });
    const app = express().use('/api/mcp', mcpRouter(server));
    const message = /^There is no MCP endpoint at http:\/\/127\.0\.0\.1:\d+\/mcp \(for an app, the option path/;
    await expect(connect(app)).rejects.toThrow(message);
    await open(app, { path: '/api/mcp' });
    // The router itself is a handler too.
    await open(mcpRouter(server), { path: '/' });
  });

  it('takes a server under any module system, and a URL object', async () => {
    const url = await listen(mcpRouter(new McpServer({ name: 'x', version: '1' })));
    const client = await open(new URL(url));
    expect(client.server.info).toMatchObject({ name: 'x' });
  });

  it('rejects when nobody listens', async () => {
    const probe = createServer();
    await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
    const address = probe.address() as { port: number };
    await new Promise((resolve) => probe.close(resolve));
    await expect(connect(`http://127.0.0.1:${address.port}/mcp`)).rejects.toThrow('fetch failed');
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#client-behavior
  it('mirrors parameters into headers, which it learns from the list', async () => {
    const server = new McpServer({ name: 'x', version: '1' }, { authorizer: allowAll });
    let asked = 0;
    let region: unknown;
    const inputSchema = {
      type: 'object',
      properties: {
        region: { type: 'string', 'x-mcp-header': 'Region' },
        deep: { type: 'object', properties: { n: { type: 'integer', 'x-mcp-header': 'N' } } },
      },
    };
    server.registerTool('query', { inputSchema }, (args, ctx) => {
      region = ctx.request?.headers['mcp-param-region'];
      return JSON.stringify(args);
    });
    const app = express().use('/mcp', (_req, _res, next) => {
      asked += 1;
      next();
    });
    app.use('/mcp', mcpRouter(server));
    const client = await open(app);
    const args = { region: ' Zürich ', deep: { n: 7 } };
    expect((await client.callTool('query', args)).content).toEqual([{ type: 'text', text: JSON.stringify(args) }]);
    expect(region).toBe(`=?base64?${Buffer.from(' Zürich ').toString('base64')}?=`);
    // discover, the call that lacks them, the list, the call; then the call alone.
    expect(asked).toBe(4);
    await client.callTool('query', { region: 'us' });
    expect([asked, region]).toEqual([5, 'us']);
    await client.callTool('query', {});
    expect(asked).toBe(6);
  });

  it('rejects when a stream ends before the answer', async () => {
    const app = fakeServer((_req, res) => {
      res.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' });
      res.end('id: 0\ndata:\n\ndata: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n');
    });
    const client = await open(app);
    const heard = client.notifications();
    await expect(client.callTool('x')).rejects.toThrow('The stream ended without the answer to tools/call');
    expect((await heard.next()).value).toMatchObject({ method: 'notifications/message' });
  });

  it('reads events however they are cut', async () => {
    const app = fakeServer((_req, res, id) => {
      const result = { content: [{ type: 'text', text: 'zwölf 🎈' }] };
      const bytes = Buffer.from(`: hello\r\n\r\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\r\n\r\n`);
      res.writeHead(200, { 'Content-Type': 'text/event-stream' });
      const sendFrom = (at: number): void => {
        if (at >= bytes.length) return void res.end();
        res.write(bytes.subarray(at, at + 1), () => setImmediate(sendFrom, at + 1));
      };
      sendFrom(0);
    });
    const client = await open(app);
    expect((await client.callTool('x')).content).toEqual([{ type: 'text', text: 'zwölf 🎈' }]);
  });

  it('does not follow a redirect with the headers it was given', async () => {
    const app = fakeServer((_req, res) => res.writeHead(307, { Location: 'http://127.0.0.1:9/' }).end());
    const client = await open(app, { headers: { authorization: 'Bearer secret' } });
    await expect(client.callTool('x')).rejects.toMatchObject({ status: 307 });
  });

  it('rejects a server that does not speak the revision', async () => {
    const app: RequestListener = (_req, res) => {
      const result = { supportedVersions: ['2099-01-01'], capabilities: {}, protocolVersion: '2099-01-01' };
      res.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id: 1, result }));
    };
    await expect(connect(app)).rejects.toThrow('The server does not speak 2026-07-28, but 2099-01-01');
    const legacy = connect(app, { revision: '2025-11-25' });
    await expect(legacy).rejects.toThrow('The server does not speak 2025-11-25: it offers 2099-01-01');
  });

  it('leaves a legacy server alone that offers no stream', async () => {
    const fixture = await createFixture({ router: { serverMessages: false } });
    const client = await open(fixture.app, { revision: '2025-11-25' });
    expect((await client.callTool('nothing')).content).toEqual([{ type: 'text', text: 'nothing' }]);
    await fixture.close();
  });

  it('is typed as Express has it', async () => {
    const server = new McpServer({ name: 'x', version: '1' });
    server.registerTool('add', { inputSchema: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => `${a + b}`);
    const app = express().use('/mcp', express.json(), mcpRouter(server));
    const client = await open(app);
    expect((await client.callTool('add', { a: 1, b: 2 })).content).toEqual([{ type: 'text', text: '3' }]);
  });
});
