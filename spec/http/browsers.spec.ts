/** Pages that call: which may, what they are told, and that both eras and every verb agree. */
import { validateOrigin } from 'express-mcp';
import { connect, eras } from '../support/eras';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { initializeMessage, legacySession, modernRequest, post, send } from '../support/wire';
import type { Headers, Reply } from '../support/wire';

const app = 'https://app.example';
const evil = 'https://evil.example';
const preflight = { 'Access-Control-Request-Method': 'POST' };

const cors = ({ headers }: Reply) => Object.keys(headers).filter((name) => name.startsWith('access-control'));

describe('behind a login', () => {
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await createFixture({ bearer: true, router: { origins: [app] } });
  });
  afterAll(() => fixture.close());
  const alice = { Authorization: 'Bearer alice-token' };

  it('a preflight is answered without a token, DELETE and every header of the protocol included', async () => {
    const asked =
      'authorization,content-type,mcp-session-id,mcp-protocol-version,last-event-id,mcp-method,mcp-name,mcp-param-region';
    for (const method of ['POST', 'GET', 'DELETE']) {
      const reply = await send(fixture.url, {
        method: 'OPTIONS',
        headers: { Origin: app, 'Access-Control-Request-Method': method, 'Access-Control-Request-Headers': asked },
      });
      expect([reply.status, reply.text]).toEqual([204, '']);
      expect(reply.headers['access-control-allow-origin']).toBe(app);
      expect(reply.headers['access-control-allow-methods']?.split(', ')).toEqual(
        expect.arrayContaining(['POST', 'GET', 'DELETE']),
      );
      expect(reply.headers['access-control-allow-headers']?.toLowerCase().split(', ')).toEqual(
        expect.arrayContaining(asked.split(',')),
      );
    }
  });

  it.each<[string, number, () => Promise<Reply>]>([
    ['initialize', 200, () => post(fixture.url, initializeMessage(), { ...alice, Origin: app })],
    [
      'a call',
      200,
      async () => (await connect('modern', fixture, { headers: { ...alice, Origin: app } })).callTool('nothing'),
    ],
    [
      'a stream',
      200,
      async () =>
        (await connect('modern', fixture, { headers: { ...alice, Origin: app } })).request('tools/call', {
          name: 'progress',
          _meta: { progressToken: 1 },
        }),
    ],
    ['an unknown session', 404, () => session({ Origin: app, 'Mcp-Session-Id': 'nope' })],
    [
      'a wrong Accept',
      406,
      () => post(fixture.url, initializeMessage(), { ...alice, Origin: app, Accept: 'text/html' }),
    ],
    ['a wrong Content-Type', 415, () => session({ Origin: app, 'Content-Type': 'text/plain' })],
    ['a verb that is not allowed', 405, () => send(fixture.url, { method: 'PUT', headers: { ...alice, Origin: app } })],
  ])('the page of an allowed origin can read the answer to %s, and its headers', async (_what, status, ask) => {
    const { headers, ...reply } = await ask();
    expect(reply.status).toBe(status);
    expect(headers['access-control-allow-origin']).toBe(app);
    expect(headers['access-control-expose-headers']).toMatch(/Mcp-Session-Id.*WWW-Authenticate/);
    expect(headers.vary).toMatch(/\bOrigin\b/);
  });

  it('the recipe with validateOrigin in front lets it read the 401 as well', async () => {
    const behind = await createFixture({ before: [validateOrigin({ origins: [app] }) as never], bearer: true });
    const reply = await post(behind.url, initializeMessage(), { Origin: app });
    expect(reply.status).toBe(401);
    expect(reply.headers['access-control-allow-origin']).toBe(app);
    expect(reply.headers['access-control-expose-headers']).toMatch(/WWW-Authenticate/);
    const asked = await send(behind.url, { method: 'OPTIONS', headers: { Origin: app, ...preflight } });
    expect(asked.status).toBe(204);
    await behind.close();
  });

  function session(headers: Headers): Promise<Reply> {
    return post(fixture.url, { jsonrpc: '2.0', id: 1, method: 'ping' }, { ...alice, ...headers });
  }
});

describe('a page of another origin', () => {
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await createFixture({ router: { origins: [app] } });
  });
  afterAll(() => fixture.close());

  it('gets the same no to its preflight and to its POST, and no header that says otherwise', async () => {
    const asked = await send(fixture.url, { method: 'OPTIONS', headers: { Origin: evil, ...preflight } });
    const posted = await post(fixture.url, initializeMessage(), { Origin: evil });
    expect([asked.status, posted.status]).toEqual([403, 403]);
    expect([cors(asked), cors(posted)]).toEqual([[], []]);
  });

  it('of an allowed origin gets the same yes', async () => {
    const asked = await send(fixture.url, { method: 'OPTIONS', headers: { Origin: app, ...preflight } });
    const posted = await post(fixture.url, initializeMessage(), { Origin: app });
    expect([asked.status, posted.status]).toEqual([204, 200]);
  });

  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning
  // https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#security--endpoint
  it('MUST be refused with 403 on every verb and in both eras, and nothing runs', async () => {
    const session = await legacySession(fixture);
    const stream = await session.get();
    const modernCall = modernRequest('tools/call', { name: 'nothing' }, { headers: { Origin: evil } });
    const replies = [
      await session.callTool('nothing', {}, { headers: { Origin: evil } }),
      await session.notify('notifications/initialized', {}, { headers: { Origin: evil } }),
      await session.delete({ Origin: evil }),
      await send(fixture.url, { method: 'GET', headers: { ...session.headers, Origin: evil } }),
      await post(fixture.url, modernCall.body, modernCall.headers),
      await send(fixture.url, { method: 'PUT', headers: { Origin: evil } }),
    ];
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 403));
    for (const { json } of replies) expect(json?.error?.code).toBe(-32600);
    expect(fixture.ran).toEqual([]);
    expect((await session.request('ping')).status).toBe(200);
    stream.close();
  });
});

describe.each(eras)('on an address that is not loopback, %s era', (era) => {
  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning
  it('Origin MUST be checked all the same', async () => {
    const fixture = await createFixture({
      before: [
        (req, _res, next) => {
          Object.defineProperty(req.socket, 'localAddress', { value: '192.0.2.1', configurable: true });
          next();
        },
      ],
    });
    const client = await connect(era, fixture, { headers: { Host: 'mcp.example' } });
    expect((await client.callTool('nothing')).status).toBe(200);
    for (const Origin of ['http://evil.example', 'http://mcp.example', 'http://localhost']) {
      expect((await client.callTool('nothing', {}, { headers: { Origin } })).status).toBe(403);
      for (const method of ['GET', 'DELETE'] as const) {
        const headers = { ...client.headers('tools/list'), Host: 'mcp.example', Origin };
        expect((await send(fixture.url, { method, headers })).status).toBe(403);
      }
    }
    await fixture.close();
  });
});

describe.each(eras)('with default options, %s era', (era) => {
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await createFixture();
  });
  afterAll(() => fixture.close());

  it.each(['localhost', 'localhost:3000', 'LOCALHOST:3000', '127.0.0.1:3000', '[::1]:3000', '[::1]', 'localhost.'])(
    'Host %s is served on loopback',
    async (Host) => {
      const client = await connect(era, fixture, { headers: { Host } });
      expect((await client.callTool('nothing')).status).toBe(200);
    },
  );

  it.each([
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '[::1',
    'a:b:c',
    'localhost@evil.example',
  ])('Host %s is refused on loopback, whatever proxies say', async (Host) => {
    const client = await connect(era, fixture);
    for (const headers of [{ Host }, { Host, 'X-Forwarded-Host': 'localhost' }]) {
      const reply = await client.callTool('nothing', {}, { headers });
      expect([reply.status, reply.json?.error?.code]).toEqual([403, -32600]);
    }
  });

  it.each(['http://localhost:5173', 'https://127.0.0.1', 'http://[::1]:8080', undefined])(
    'Origin %s is served',
    async (Origin) => {
      const client = await connect(era, fixture, { headers: { Origin } });
      expect((await client.callTool('nothing')).status).toBe(200);
    },
  );

  it.each<Headers[string]>([
    evil,
    'null',
    '',
    'not-a-url',
    'http://localhost:5173@evil.example',
    'http://127.0.0.1.evil.example',
    'http://localhost:5173.evil.example',
    `http://${'a'.repeat(10_000)}.example`,
    ['http://localhost', 'http://localhost'],
  ])('Origin %s is refused although the Host is right', async (Origin) => {
    const client = await connect(era, fixture);
    const reply = await client.callTool('nothing', {}, { headers: { Origin, Host: 'localhost:3000' } });
    expect([reply.status, reply.json?.error?.code]).toEqual([403, -32600]);
  });
});
