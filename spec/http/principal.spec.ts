/** The principal is what the host's authentication found; nothing that a client sends makes it another. */
import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { allow, bearerAuth } from 'express-mcp';
import type { Context, ToolQuestion } from 'express-mcp';
import { connect, eras } from '../support/eras';
import { createFixture } from '../support/fixture';
import type { Fixture, FixtureOptions } from '../support/fixture';
import { createPolicy } from '../support/questions';
import { legacySession, modern, post, textOf } from '../support/wire';
import type { Headers } from '../support/wire';

const policy = createPolicy<ToolQuestion>(() => allow());
let fixture: Fixture;
afterEach(() => fixture.close());
beforeEach(() => policy.taken());

async function start(options: FixtureOptions): Promise<void> {
  fixture = await createFixture({ ...options, server: { authorizer: policy.hook } });
}

const bob = { Authorization: 'Bearer bob-token' };

/** Headers in which clients and proxies name people. */
const claims: Headers[] = [
  { 'X-User': 'alice', 'X-Principal': 'alice', Principal: 'alice', 'Mcp-Principal': 'alice' },
  { 'X-Forwarded-User': 'alice', 'X-Remote-User': 'alice', 'Remote-User': 'alice', From: 'alice@example.com' },
  { 'X-Forwarded-For': '10.0.0.1', Forwarded: 'for=10.0.0.1;by=alice', 'X-Real-IP': '10.0.0.1' },
  { Cookie: 'principal=alice; session=alice-token', 'Proxy-Authorization': 'Bearer alice-token' },
  { 'X-Authorization': 'Bearer alice-token', 'WWW-Authenticate': 'Bearer alice-token', Authentication: 'alice' },
  { 'Mcp-Session-Id': 'alice', 'Last-Event-ID': 'alice-0-1' },
  { 'Mcp-Param-Principal': 'alice', 'Mcp-Param-Auth': 'alice' },
];

/** `_meta` in which a client names somebody. */
const metas: Record<string, unknown>[] = [
  { 'io.modelcontextprotocol/clientInfo': { name: 'alice', version: '1', principal: 'alice' } },
  { principal: 'alice', user: 'alice', auth: { principal: 'alice' }, sub: 'alice' },
  { 'io.modelcontextprotocol/principal': 'alice', 'io.modelcontextprotocol/auth': { principal: 'alice' } },
  { 'io.github.express-mcp/principal': 'alice', 'io.github.express-mcp/authorization': { code: 'allow' } },
  JSON.parse('{"__proto__":{"principal":"alice"},"constructor":{"prototype":{"principal":"alice"}}}') as Record<
    string,
    unknown
  >,
];

function expectBob(context: Context | undefined): void {
  expect([context?.principal, context?.auth?.principal]).toEqual(['bob', 'bob']);
}

describe.each(eras)('a client with a token of bob, %s era', (era) => {
  beforeEach(() => start({ bearer: true }));

  it.each(claims)('is bob, whatever its headers say: %j', async (headers) => {
    const client = await connect(era, fixture, { headers: bob });
    // The session's own id is needed in the legacy era.
    const { 'Mcp-Session-Id': _, ...rest } = headers;
    const reply = await client.callTool('caller', {}, { headers: era === 'legacy' ? rest : headers });
    expect(textOf(reply)).toBe('bob');
    expectBob(policy.asked[0]?.context);
  });

  it.each(metas)('is bob, whatever its _meta says: %j', async (meta) => {
    const client = await connect(era, fixture, { headers: bob });
    const message = client.message('tools/call', { name: 'caller', arguments: { principal: 'alice' } });
    const params = message.params as { _meta?: object };
    params._meta = { ...params._meta, ...meta };
    const reply = await client.post(
      { ...message, principal: 'alice', auth: { principal: 'alice' }, user: 'alice' },
      { method: 'tools/call', name: 'caller' },
    );
    expect(textOf(reply)).toBe('bob');
    expectBob(policy.asked[0]?.context);
  });

  it('is nobody else with two tokens', async () => {
    const client = await connect(era, fixture, { headers: bob });
    const both = ['Bearer bob-token', 'Bearer alice-token'];
    for (const Authorization of [both, [...both].reverse(), both.join(', ')])
      expect((await client.callTool('caller', {}, { headers: { Authorization } })).status).toBe(401);
    expect(fixture.ran).toEqual([]);
  });

  it('is nobody with a token in the address', async () => {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list', access_token: 'alice-token' };
    expect((await post(`${fixture.url}?access_token=alice-token`, message)).status).toBe(401);
  });
});

describe('a session id', () => {
  it('of alice does not make bob her', async () => {
    await start({ bearer: true });
    const hers = await legacySession(fixture, { headers: { Authorization: 'Bearer alice-token' } });
    const reply = await hers.callTool('caller', {}, { headers: bob });
    expect([reply.status, fixture.ran]).toEqual([404, []]);
    expect(policy.asked).toEqual([]);
    // A modern request belongs to no session, whatever id it carries.
    const modernReply = await modern(fixture, bob).callTool(
      'caller',
      {},
      { headers: { 'Mcp-Session-Id': hers.sessionId } },
    );
    expect(textOf(modernReply)).toBe('bob');
    expect(policy.asked[0]?.context.sessionId).toBeUndefined();
  });
});

/** A login of the host's own that leaves something on the request. */
const login =
  (set: Record<string, unknown>): RequestHandler =>
  (req, _res, next) => {
    Object.assign(req, set);
    next();
  };

describe('the option principal', () => {
  it.each(eras)('says who calls, from what the host’s login left: %s era', async (era) => {
    await start({
      before: [login({ user: { id: 'u-17', name: 'Bob' } })],
      router: { principal: (req) => (req as IncomingMessage & { user?: { id: string } }).user?.id },
    });
    const client = await connect(era, fixture);
    expect(textOf(await client.callTool('caller'))).toBe('u-17');
    expect(policy.asked[0]?.context).toMatchObject({ principal: 'u-17', auth: undefined });
  });

  it('may say nobody', async () => {
    await start({ before: [login({ user: { id: 'u-17' } })], router: { principal: () => undefined } });
    expect(textOf(await modern(fixture).callTool('caller'))).toBe('nobody');
  });

  it('goes before what bearerAuth verified, which stands where it says nobody', async () => {
    const names: (string | undefined)[] = ['carol', undefined];
    await start({ bearer: true, router: { principal: () => names.shift() } });
    expect(textOf(await modern(fixture, bob).callTool('caller'))).toBe('carol');
    expect(policy.asked[0]?.context.auth?.principal).toBe('bob');
    expect(textOf(await modern(fixture, bob).callTool('caller'))).toBe('bob');
  });

  it.each([
    ['an empty string', ''],
    ['a number', 17],
    ['an object', { id: 1 }],
    ['a promise', Promise.resolve('alice')],
    ['true', true],
  ])('refuses everybody when it says %s, and onError hears of it', async (_what, principal) => {
    await start({ router: { principal: () => principal as string } });
    const { status, response, text } = await modern(fixture).callTool('caller', {}, { validate: false });
    expect([status, response?.error?.message, fixture.ran]).toEqual([500, 'Internal error', []]);
    expect(text).not.toContain('principal');
    expect(fixture.errors.map(String)).toEqual([expect.stringContaining('principal')]);
  });

  it('refuses everybody when it throws', async () => {
    const principal = () => {
      throw new Error('secret');
    };
    await start({ router: { principal } });
    const { status, text } = await modern(fixture).callTool('caller', {}, { validate: false });
    expect([status, fixture.ran, fixture.errors.length]).toEqual([500, [], 1]);
    expect(text).not.toContain('secret');
  });
});

describe('a login of which nobody has said who it is', () => {
  it.each([
    ['req.user', { user: { id: 'u-17' } }],
    ['req.user as a string', { user: 'bob' }],
    ['req.auth', { auth: { sub: 'bob' } }],
  ])('is refused, since all its users would be one: %s', async (_what, set) => {
    await start({ before: [login(set)] });
    for (const send of [
      () => modern(fixture).callTool('caller', {}, { validate: false }),
      () => post(fixture.url, { jsonrpc: '2.0', id: 1, method: 'initialize' }, {}, { validate: false }),
    ]) {
      const { status, response } = await send();
      expect([status, response?.error?.message]).toEqual([500, 'Internal error']);
    }
    expect(fixture.ran).toEqual([]);
    expect(fixture.errors.map(String)).toEqual(Array(2).fill(expect.stringMatching(/principal: \(req\)/)));
  });

  it('is who bearerAuth says beside it', async () => {
    const verify = () => ({ principal: 'bob', scopes: [] });
    await start({ before: [login({ user: { id: 'u-17' }, auth: {} }), bearerAuth({ verify }) as RequestHandler] });
    expect(textOf(await modern(fixture, bob).callTool('caller'))).toBe('bob');
  });

  it.each([{}, { user: undefined }, { user: null, auth: undefined }])('is none where it left %j', async (set) => {
    await start({ before: [login(set)] });
    expect(textOf(await modern(fixture).callTool('caller'))).toBe('nobody');
  });
});
