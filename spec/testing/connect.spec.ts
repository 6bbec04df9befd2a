/** connect(): the same client for a server in this process, an app and a URL, in every revision. */
import { ErrorCode, McpError, McpServer } from 'express-mcp';
import { connect } from 'express-mcp/testing';
import type { ConnectOptions, TestClient } from 'express-mcp/testing';
import * as z from 'zod';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { modernRevision, revisions } from '../support/schema';
import { watchTimers } from '../support/timers';

let fixture: Fixture;
const clients: TestClient[] = [];

beforeAll(async () => {
  fixture = await createFixture({
    setup(server) {
      server.registerPrompt(
        'ask',
        {
          argsSchema: z.object({ city: z.string(), country: z.string().optional() }),
          complete: { city: (value, { country }) => [`${value}slo, ${country}`] },
        },
        () => 'Where?',
      );
    },
  });
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});
afterAll(() => fixture.close());

const doors = ['server', 'app', 'url'] as const;
type Door = (typeof doors)[number];

async function open(door: Door, options: ConnectOptions = {}): Promise<TestClient> {
  const client = await connect(fixture[door], options);
  clients.push(client);
  return client;
}

const everyWay = doors.flatMap((door) => revisions.map((revision) => [door, revision] as const));

describe.each(everyWay)('a client of the %s in %s', (door, revision) => {
  it('knows the server, and uses what it offers', async () => {
    const client = await open(door, { revision });
    expect(client).toMatchObject({ revision, era: revision === modernRevision ? 'modern' : 'legacy' });
    expect(client.server).toMatchObject({
      info: { name: 'fixture', version: '1.2.3' },
      instructions: 'For specs.',
      capabilities: { tools: {}, resources: {}, prompts: {} },
    });
    expect((await client.listTools()).map(({ name }) => name)).toContain('echo');
    expect((await client.callTool('echo', { text: 'hi' })).content).toEqual([{ type: 'text', text: 'hi' }]);
    expect((await client.callTool('era')).content).toEqual([
      { type: 'text', text: `${client.era} ${client.revision}` },
    ]);
    expect(await client.listResources()).toMatchObject([{ uri: 'file:///readme.txt' }]);
    expect(await client.listResourceTemplates()).toMatchObject([{ uriTemplate: 'item://{id}' }]);
    expect((await client.readResource('item://ü')).contents).toMatchObject([{ text: 'Item ü' }]);
    expect((await client.listPrompts()).map(({ name }) => name)).toEqual(['greet', 'ask']);
    expect((await client.getPrompt('greet', { topic: 'you' })).messages).toHaveLength(1);
    const ref = { type: 'ref/prompt', name: 'ask' } as const;
    const { values } = await client.complete(ref, { name: 'city', value: 'O' }, { country: 'Norway' });
    expect(values).toEqual(['Oslo, Norway']);
  });

  it('rejects with an McpError for a JSON-RPC error, and returns what a tool says of its failure', async () => {
    const client = await open(door, { revision });
    const error = await client.request('tools/nothing').catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(McpError);
    expect(error).toMatchObject({ code: ErrorCode.MethodNotFound });
    await expect(client.callTool('throws')).rejects.toMatchObject({ code: ErrorCode.InternalError });
    expect(await client.callTool('fails')).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'No such city' }],
    });
  });

  it('stops a call by its signal', async () => {
    const client = await open(door, { revision });
    const stop = new AbortController();
    const before = fixture.aborted.length;
    const ran = fixture.ran.length;
    const call = client.callTool('hold', {}, { signal: stop.signal });
    await fixture.until(() => fixture.ran.length > ran);
    stop.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
    await fixture.until(() => fixture.aborted.length > before);
    expect((await client.callTool('nothing')).isError).toBeUndefined();
  });

  it('gives up after timeoutMs, and cancels', async () => {
    const client = await open(door, { revision });
    const before = fixture.aborted.length;
    const message = 'The answer to tools/call did not come within 50 ms';
    await expect(client.callTool('hold', {}, { timeoutMs: 50 })).rejects.toThrow(message);
    await fixture.until(() => fixture.aborted.length > before);
  });

  it('waits for ever where timeoutMs is that', async () => {
    const client = await open(door, { revision, timeoutMs: Infinity });
    const timers = watchTimers();
    const call = client.callTool('nothing');
    expect(timers.pending()).toContain(2 ** 31 - 1);
    timers.restore();
    expect((await call).isError).toBeUndefined();
  });

  it.each([-1, NaN, '5', null])('refuses a timeoutMs of %p', async (timeoutMs) => {
    const client = await open(door, { revision });
    const call = client.callTool('nothing', {}, { timeoutMs: timeoutMs as number });
    await expect(call).rejects.toThrow(/^timeoutMs must be milliseconds from 0 up, or Infinity/);
  });

  it('rejects what runs when it is closed, and what comes after', async () => {
    const client = await open(door, { revision });
    const ran = fixture.ran.length;
    const call = client.callTool('hold');
    await fixture.until(() => fixture.ran.length > ran);
    const before = fixture.aborted.length;
    await Promise.all([client.close(), expect(call).rejects.toThrow('The client was closed')]);
    await fixture.until(() => fixture.aborted.length > before);
    await expect(client.callTool('nothing')).rejects.toThrow('The client was closed');
    await client.close();
  });
});

describe('connect()', () => {
  it('speaks the latest revision unless told otherwise', async () => {
    expect((await open('server')).revision).toBe(modernRevision);
  });

  it('fetches all pages of a list', async () => {
    const server = new McpServer({ name: 'pages', version: '1' }, { pageSize: 2 });
    for (const name of ['a', 'b', 'c', 'd', 'e']) server.registerTool(name, {}, () => name);
    const client = await connect(server);
    clients.push(client);
    expect((await client.listTools()).map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('is a principal to a server in this process, with claims if need be', async () => {
    const text = async (options: ConnectOptions) => (await (await open('server', options)).callTool('caller')).content;
    expect(await text({ principal: 'ada' })).toEqual([{ type: 'text', text: 'ada' }]);
    expect(await text({ auth: { principal: 'bob', scopes: ['read'] } })).toEqual([{ type: 'text', text: 'bob' }]);
    expect(await text({})).toEqual([{ type: 'text', text: 'nobody' }]);
  });

  it('gives only what JSON can carry, in both directions', async () => {
    const server = new McpServer({ name: 'json', version: '1' });
    let seen: unknown;
    server.registerTool('keep', {}, (args) => {
      seen = args;
      return { content: [], structuredContent: { at: new Date(0), gone: undefined } };
    });
    const client = await connect(server);
    clients.push(client);
    const given = { list: [1], gone: undefined };
    const { structuredContent } = await client.callTool('keep', given);
    expect(structuredContent).toStrictEqual({ at: '1970-01-01T00:00:00.000Z' });
    expect(seen).toStrictEqual({ list: [1] });
  });

  it('ends its session, and the server it made for an app', async () => {
    const sessions = fixture.router.stats().sessions;
    const client = await open('app', { revision: '2025-11-25' });
    expect(fixture.router.stats().sessions).toBe(sessions + 1);
    await client.close();
    expect(fixture.router.stats().sessions).toBe(sessions);
  });

  it('can be left to `await using`', async () => {
    const client = await connect(fixture.server);
    await client[Symbol.asyncDispose]();
    await expect(client.listTools()).rejects.toThrow('The client was closed');
  });

  it('says what is wrong with its options', async () => {
    const misuse: [Parameters<typeof connect>[0], ConnectOptions, RegExp][] = [
      [fixture.server, { headers: {} }, /headers, path/],
      [fixture.server, { path: '/x' }, /headers, path/],
      [fixture.app, { principal: 'ada' }, /principal, auth/],
      [fixture.url, { auth: { principal: 'ada', scopes: [] } }, /principal, auth/],
      [fixture.server, { revision: '2020-01-01' }, /"2020-01-01" is not one that is known/],
      ['nowhere', {}, /must be an McpServer, an app or a URL, got "nowhere"/],
    ];
    for (const [target, options, message] of misuse) {
      const error = await connect(target, options).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(TypeError);
      expect((error as Error).message).toMatch(message);
    }
  });
});
