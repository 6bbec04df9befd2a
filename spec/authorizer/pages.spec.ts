/** Pages that a user is sent to: each under an id of its own, and only who was asked hears that the user is done. */
import { randomBytes } from 'node:crypto';
import type { McpServer } from 'express-mcp';
import { join } from '../support/memory';
import { questionOn, questionsIn, answer, responseOn } from '../support/questions';
import { modernRevision } from '../support/schema';
import { createServer, serve } from '../support/serve';
import type { Served } from '../support/serve';
import { legacySession, modern, textOf } from '../support/wire';
import type { LegacySession } from '../support/wire';

const capabilities = { elicitation: { url: {} } };
const complete = 'notifications/elicitation/complete';

function registerAll(server: McpServer): void {
  server.registerTool('page', {}, async (_args, context) => {
    await context.elicit('page', { message: 'Open it', url: 'https://example.com/' });
    return 'opened';
  });
  server.registerTool('pay', {}, async (_args, context) => {
    const id = await context.once('id', () => context.createElicitationId());
    await context.elicit('pay', { message: 'Pay', url: `https://example.com/?id=${id}`, elicitationId: id });
    return id;
  });
  server.registerTool('id', {}, (_args, context) => context.createElicitationId());
  server.registerTool('foreign', {}, async (_args, context) => {
    await context.elicit('x', { message: 'Pay', url: 'https://example.com/', elicitationId: 'mine' });
  });
}

let served: Served;
beforeAll(async () => {
  served = await serve(registerAll);
});
afterAll(() => served.close());

const sessionOf = (revision: '2025-11-25' | '2025-06-18' = '2025-11-25') =>
  legacySession(served, { revision, capabilities });

/** The params of a page, and the result once the user has agreed to open it. */
async function openPage(session: LegacySession, name: string) {
  const stream = await session.stream('tools/call', { name, arguments: {} });
  const { id, params } = await questionOn(stream);
  await answer(session, id, { action: 'accept' });
  const { result } = await responseOn(stream);
  await stream.ended;
  return { params: params as { url: string; elicitationId: string }, result };
}

// https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-mode-elicitation-requests
describe('the id of a page', () => {
  it('MUST be unique: per question, whoever asks under whatever key', async () => {
    const [one, other] = [await sessionOf(), await sessionOf()];
    const pages = [await openPage(one, 'page'), await openPage(one, 'page'), await openPage(other, 'page')];
    const ids = pages.map(({ params }) => params.elicitationId);
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toMatch(/^[\w.-]{30,}$/);
  });

  it('does not show the session’s id', async () => {
    const session = await sessionOf();
    const { params } = await openPage(session, 'page');
    expect(params.elicitationId).not.toContain(session.sessionId.slice(0, 8));
  });

  it('can be made first, and put in the url', async () => {
    const { params, result } = await openPage(await sessionOf(), 'pay');
    expect(params.url).toBe(`https://example.com/?id=${params.elicitationId}`);
    expect(result?.content).toEqual([{ type: 'text', text: params.elicitationId }]);
  });

  it('stays the same over the rounds of a modern call, which is not sent it', async () => {
    const call = (rounds: object = {}) =>
      modern(served).request('tools/call', { name: 'pay', ...rounds }, { capabilities });
    const { requests, requestState } = questionsIn(await call());
    const { params } = requests.pay!;
    expect(params).toEqual({ mode: 'url', message: 'Pay', url: expect.any(String) });
    const done = await call({ requestState, inputResponses: { pay: { action: 'accept' } } });
    expect(params.url).toBe(`https://example.com/?id=${textOf(done)}`);
  });

  it('cannot be one of the author’s own making, of which nobody would hear', async () => {
    const errors: unknown[] = [];
    const server = createServer(registerAll, { server: { onError: (error) => void errors.push(error) } });
    const client = await join(server, { capabilities });
    expect((await client.callTool('foreign')).error?.code).toBe(-32603);
    expect(errors.map(String)).toEqual([expect.stringMatching(/^TypeError: .*createElicitationId\(\)/)]);
    client.close();
  });
});

// https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#completion-notifications-for-url-mode-elicitation
describe('notifications/elicitation/complete', () => {
  it('MUST only be sent to the client that was asked', async () => {
    const sessions = [await sessionOf(), await sessionOf(), await sessionOf('2025-06-18')];
    const streams = await Promise.all(sessions.map((session) => session.get()));
    const { elicitationId } = (await openPage(sessions[0]!, 'page')).params;
    served.server.notify(complete, { elicitationId });
    served.server.notifyToolsChanged();
    const heard = await Promise.all(
      streams.map(async (stream) => {
        await stream.find(({ method }) => method === 'notifications/tools/list_changed');
        stream.close();
        return stream.events.flatMap(({ message }) => (message?.method === complete ? [message.params] : []));
      }),
    );
    expect(heard).toEqual([[{ elicitationId }], [], []]);
  });

  it.each([undefined, {}, { elicitationId: 'page' }, { elicitationId: '' }, { elicitationId: 5 }])(
    'goes to nobody for an id that is none: %j',
    async (params) => {
      const server = createServer(registerAll);
      const client = await join(server, { capabilities });
      server.notify(complete, params);
      expect(client.heard).toEqual([]);
      client.close();
    },
  );

  it('reaches the connection that was asked, and no other of the server', async () => {
    const server = createServer(registerAll);
    const [one, other, modernOne] = [
      await join(server, { capabilities }),
      await join(server, { capabilities }),
      await join(server, { capabilities, revision: modernRevision }),
    ];
    const { result } = await one.callTool('id');
    const [{ text: elicitationId }] = result?.content as [{ text: string }];
    server.notify(complete, { elicitationId });
    expect([one.heard.length, other.heard.length, modernOne.heard.length]).toEqual([1, 0, 0]);
    for (const client of [one, other, modernOne]) client.close();
  });

  it('goes to nobody for an id that another session of the same beginning might have', async () => {
    const server = createServer(registerAll);
    const client = await join(server, { capabilities });
    const { result } = await client.callTool('id');
    const [{ text }] = result?.content as [{ text: string }];
    server.notify(complete, { elicitationId: text.slice(0, 10) + randomBytes(20).toString('base64url') });
    expect(client.heard).toEqual([]);
    client.close();
  });
});
