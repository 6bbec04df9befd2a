/** `stream: 'always'`: what a legacy client can resume from the start; modern clients cannot resume, and keep their statuses. */
import * as z from 'zod';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { legacySession, modern, textOf } from '../support/wire';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await createFixture({
    router: { stream: 'always' },
    setup(server) {
      server.registerTool(
        'samples',
        { description: 'Needs sampling', stream: 'always', inputSchema: z.object({}) },
        async (_args, ctx) => {
          const { content } = await ctx.sample('s', { messages: [], maxTokens: 1 });
          return JSON.stringify(content);
        },
      );
      const region = { type: 'string', 'x-mcp-header': 'Region' };
      server.registerTool(
        'mirrored',
        { description: 'Mirrors an argument', inputSchema: { type: 'object', properties: { region } } },
        () => 'mirrored',
      );
    },
  });
});
afterAll(() => fixture.close());

describe('stream: always', () => {
  it('answers every request of a session but initialize with a stream', async () => {
    const session = await legacySession(fixture);
    expect(session.initializeReply.headers['content-type']).toBe('application/json');
    const replies = [await session.request('ping'), await session.callTool('echo', { text: 'hello' })];
    for (const { status, headers } of replies)
      expect([status, headers['content-type']]).toEqual([200, 'text/event-stream']);
    expect(textOf(replies[1]!)).toBe('hello');
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#protocol-version-header
  it('MUST answer a modern request for an unknown method with 404', async () => {
    const reply = await modern(fixture).request('no/such');
    expect([reply.status, reply.json?.error?.code]).toEqual([404, -32601]);
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-validation
  it('MUST answer a header that does not match its argument with 400', async () => {
    const reply = await modern(fixture).callTool('mirrored', { region: 'eu' });
    expect([reply.status, reply.json?.error?.code]).toEqual([400, -32020]);
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/schema#missingrequiredclientcapabilityerror
  it('MUST answer 400 where the client lacks a capability, though the tool itself finds out', async () => {
    const reply = await modern(fixture).callTool('samples');
    expect([reply.status, reply.json?.error?.code]).toEqual([400, -32021]);
  });
});
