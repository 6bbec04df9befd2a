/** A denial for want of scopes tells the client which to ask for, in HTTP's own words where that still can be. */
import type { RequestHandler } from 'express';
import { allow, bearerAuth, deny } from 'express-mcp';
import type { ReadQuestion, ToolQuestion } from 'express-mcp';
import { connect, eras } from '../support/eras';
import { createFixture } from '../support/fixture';
import type { Fixture, FixtureOptions } from '../support/fixture';
import { createPolicy, denialIn, responseOn } from '../support/questions';
import { legacySession, modern } from '../support/wire';
import type { Reply } from '../support/wire';

const tools = createPolicy<ToolQuestion>();
const reads = createPolicy<ReadQuestion>();
let fixture: Fixture;
afterEach(async () => {
  await fixture.close();
  expect(fixture.errors).toEqual([]);
});

const headers = { Authorization: 'Bearer alice' };
const bearer = bearerAuth({
  verify: (token) => ({ principal: token, scopes: ['mcp'] }),
  scopes: ['mcp'],
}) as RequestHandler;

async function start(
  { before = [bearer], ...options }: FixtureOptions = {},
  scopes: string[] = ['admin', 'write'],
): Promise<void> {
  const decide = ({ operation }: { operation: string }) =>
    operation === 'call' ? deny('Admins only', { scopes }) : allow();
  tools.decide = decide;
  reads.decide = decide;
  fixture = await createFixture({
    ...options,
    before,
    server: { authorizer: tools.hook, readAuthorizer: reads.hook, ...options.server },
  });
}

/** The parameters of the one challenge. */
function challengeIn({ headers: { 'www-authenticate': value = '' } }: Reply): Record<string, string> {
  expect(value).toMatch(/^Bearer [a-z_]+="[^"\\]*"(, [a-z_]+="[^"\\]*")*$/);
  return Object.fromEntries(
    [...value.matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, name, text]) => [name, text]),
  ) as Record<string, string>;
}

const denial = { code: 'authorization_denied', reason: 'Admins only' };

describe.each(eras)('a call that lacks a scope, %s era', (era) => {
  // https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization#runtime-insufficient-scope-errors
  it('SHOULD get 403 with insufficient_scope, and all the scopes that are needed', async () => {
    await start();
    const client = await connect(era, fixture, { headers });
    const reply = await client.callTool('echo', { text: 'a' }, { id: 'abc' });
    expect(reply.status).toBe(403);
    const { resource_metadata, ...rest } = challengeIn(reply);
    expect(rest).toEqual({ error: 'insufficient_scope', scope: 'mcp admin write' });
    expect(resource_metadata).toMatch(/\/\.well-known\/oauth-protected-resource\/mcp$/);
    // What HTTP refuses is a JSON-RPC error under the request's id, and says why as a result would.
    expect(reply.json).toEqual({
      jsonrpc: '2.0',
      id: 'abc',
      error: {
        code: -32600,
        message: 'Not authorized: Admins only',
        data: { 'io.github.express-mcp/authorization': denial },
      },
    });
    expect(fixture.ran).toEqual([]);
  });

  it.each([
    ['resources/read', { uri: 'file:///readme.txt' }],
    ['prompts/get', { name: 'greet' }],
  ])('is refused so by %s too', async (method, params) => {
    await start();
    const client = await connect(era, fixture, { headers });
    const reply = await client.request(method, params, { id: 'abc' });
    expect([reply.status, reply.response?.id]).toEqual([403, 'abc']);
    expect(challengeIn(reply)).toMatchObject({ error: 'insufficient_scope', scope: 'mcp admin write' });
    expect(denialIn(reply.response)).toEqual(denial);
  });

  it('is refused so to a client that takes a stream only, or JSON only', async () => {
    await start();
    const client = await connect(era, fixture, { headers });
    for (const Accept of ['text/event-stream', 'application/json'])
      expect((await client.callTool('echo', { text: 'a' }, { headers: { Accept } })).status).toBe(403);
  });

  it('is denied as it stands where the answer has become a stream', async () => {
    await start({ router: { keepAliveMs: 20 } });
    let decided!: () => void;
    const waiting = new Promise<void>((resolve) => (decided = resolve));
    const { decide } = tools;
    tools.decide = async (call, context) => {
      await waiting;
      return decide(call, context);
    };
    const client = await connect(era, fixture, { headers });
    const stream = await client.stream('tools/call', { name: 'echo', arguments: { text: 'a' } });
    decided();
    expect([stream.status, stream.headers['www-authenticate']]).toEqual([200, undefined]);
    expect(stream.headers['content-type']).toMatch(/^text\/event-stream/);
    expect(denialIn(await responseOn(stream))).toEqual(denial);
    stream.close();
  });

  it('is denied as it stands where bearerAuth did not run: there is no token to better', async () => {
    await start({ before: [], router: { principal: () => 'alice' } });
    const client = await connect(era, fixture);
    const reply = await client.callTool('echo', { text: 'a' });
    expect([reply.status, reply.headers['www-authenticate']]).toEqual([200, undefined]);
    expect(denialIn(reply.response)).toEqual(denial);
    expect(reply.response?.result?.content).toEqual([{ type: 'text', text: 'Not authorized: Admins only' }]);
  });

  it('is denied as it stands where no scope would help', async () => {
    await start();
    tools.decide = ({ operation }) => (operation === 'call' ? deny('Nobody') : allow());
    const client = await connect(era, fixture, { headers });
    const reply = await client.callTool('echo', { text: 'a' });
    expect([reply.status, reply.headers['www-authenticate']]).toEqual([200, undefined]);
    expect(denialIn(reply.response)).toMatchObject({ reason: 'Nobody' });
  });

  it('cannot write a second header with its scopes', async () => {
    await start({}, ['a"b', 'c\r\nX-Evil: 1', 'd\\e', '你']);
    const client = await connect(era, fixture, { headers });
    const reply = await client.callTool('echo', { text: 'a' });
    expect(reply.status).toBe(403);
    expect(reply.headers).not.toHaveProperty('x-evil');
    expect(challengeIn(reply).error).toBe('insufficient_scope');
  });
});

describe('a denial for want of scopes', () => {
  it('in a batch is one answer among others', async () => {
    await start();
    const session = await legacySession(fixture, { headers, revision: '2025-03-26' });
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: { text: 'a' } } };
    const reply = await session.post([call, { jsonrpc: '2.0', id: 2, method: 'ping' }]);
    expect([reply.status, reply.headers['www-authenticate']]).toEqual([200, undefined]);
    expect(denialIn(reply.messages.find(({ id }) => id === 1))).toEqual(denial);
    expect(reply.messages).toContainEqual({ jsonrpc: '2.0', id: 2, result: {} });
  });

  it('of a subscription in a listening is silence', async () => {
    await start();
    const stream = await modern(fixture, headers).stream('subscriptions/listen', {
      notifications: { resourceSubscriptions: ['file:///readme.txt'] },
    });
    const acknowledgement = await stream.next();
    expect(stream.status).toBe(200);
    expect(acknowledgement?.message?.params?.notifications).toEqual({ resourceSubscriptions: [] });
    stream.close();
  });

  it('of a subscription in a session is refused like a call', async () => {
    await start();
    const session = await legacySession(fixture, { headers });
    const reply = await session.request('resources/subscribe', { uri: 'file:///readme.txt' });
    expect([reply.status, challengeIn(reply).scope]).toEqual([403, 'mcp admin write']);
  });
});
