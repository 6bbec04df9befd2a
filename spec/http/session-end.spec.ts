/** DELETE: the session ends with everything that belongs to it. */
import { eventually } from '../support/eventually';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { legacySession, send, textOf } from '../support/wire';
import type { LegacySession } from '../support/wire';

let fixture: Fixture;
let session: LegacySession;
/** Lets `stubborn` end. */
let release: () => void;
beforeEach(async () => {
  const released = new Promise<void>((resolve) => (release = resolve));
  fixture = await createFixture({
    setup(server) {
      server.registerTool('stubborn', {}, async () => {
        await released;
        return 'too late';
      });
    },
  });
  session = await legacySession(fixture, { capabilities: { elicitation: {} } });
});
afterEach(() => fixture.close());

describe('DELETE of a live session', () => {
  it('answers 204 without a body', async () => {
    const reply = await session.delete();
    expect([reply.status, reply.text]).toEqual([204, '']);
  });

  it('ends its GET stream', async () => {
    const stream = await session.get();
    await session.delete();
    await stream.ended;
    expect(fixture.router.stats()).toMatchObject({ sessions: 0, streams: 0 });
  });

  it('aborts its running tools, and still sends what they answer at once', async () => {
    const call = session.callTool('hold');
    await fixture.until(() => fixture.ran.includes('hold'));
    await session.delete();
    await fixture.until(() => fixture.ended.includes('hold'));
    expect(textOf(await call)).toBe('aborted');
    expect(fixture.router.stats()).toMatchObject({ sessions: 0, calls: 0 });
  });

  it('does not wait for tools that ignore their signal: their callers are told', async () => {
    const call = session.callTool('stubborn');
    await eventually(() => fixture.router.stats().calls === 1);
    await session.delete();
    expect((await call).response?.error).toEqual({ code: -32603, message: 'The session ended (client)' });
    release();
  });

  it('ends a call that had become a stream with its answer', async () => {
    const params = { name: 'report-and-hold', arguments: {}, _meta: { progressToken: 1 } };
    const call = await session.stream('tools/call', params);
    await call.find(({ method }) => method === 'notifications/progress');
    await session.delete();
    expect((await call.find(({ id }) => id !== undefined)).result).toBeDefined();
    await call.ended;
  });

  it('settles a question that nobody has answered', async () => {
    const call = await session.stream('tools/call', { name: 'ask', arguments: {} });
    await call.find(({ method }) => method === 'elicitation/create');
    await session.delete();
    await call.ended;
    expect(fixture.router.stats()).toMatchObject({ sessions: 0, calls: 0, parked: 0, streams: 0 });
  });

  it('leaves other sessions alone', async () => {
    const other = await legacySession(fixture);
    const stream = await other.get();
    const call = other.callTool('slow', { ms: 30 });
    await fixture.until(() => fixture.ran.includes('slow'));
    await session.delete();
    expect((await call).status).toBe(200);
    fixture.server.notifyToolsChanged();
    await stream.find(({ method }) => method === 'notifications/tools/list_changed');
    stream.close();
  });

  it('happens once, however often it is asked for at the same time', async () => {
    const replies = await Promise.all([session.delete(), session.delete(), session.delete()]);
    expect(replies.map(({ status }) => status).sort()).toEqual([204, 404, 404]);
    expect(fixture.router.stats().sessionsEnded).toEqual({ client: 1 });
  });

  it('needs no Accept, Content-Type or version header', async () => {
    const headers = { 'Mcp-Session-Id': session.sessionId };
    expect((await send(fixture.url, { method: 'DELETE', headers })).status).toBe(204);
  });

  it.each(['1999-01-01', 'nonsense', ''])(
    'is refused under a version that is none, and ends nothing: %j',
    async (v) => {
      const reply = await session.delete({ 'MCP-Protocol-Version': v });
      expect(reply.status).toBe(400);
      expect((await session.request('ping')).status).toBe(200);
    },
  );

  it('leaves no rejection behind', async () => {
    const call = session.callTool('hold');
    await fixture.until(() => fixture.ran.includes('hold'));
    await session.delete();
    await call;
    // The runner fails a test during which a rejection was not handled.
    await new Promise((resolve) => setImmediate(resolve));
    expect(fixture.errors).toEqual([]);
  });
});
