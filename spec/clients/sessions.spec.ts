/** Sessions as the clients of the legacy era live through them. */
import type { Fixture } from '../support/fixture';
import { latestLegacy } from '../support/schema';
import { send } from '../support/wire';
import { closeClients, connect, kinds } from './connect';
import type { RealClient } from './connect';
import { eventually } from '../support/eventually';
import { createClientFixture } from './server';

let fixture: Fixture;

beforeEach(async () => {
  fixture = await createClientFixture();
});
afterEach(async () => {
  await closeClients();
  await fixture.close();
});

const text = ({ content }: { content: { text?: string }[] }) => content[0]?.text;

/** End a client's session behind its back. */
async function endSession({ sessionId }: RealClient): Promise<void> {
  const headers = { 'Mcp-Session-Id': sessionId!, 'MCP-Protocol-Version': latestLegacy };
  expect(await send(fixture.url, { method: 'DELETE', headers })).toMatchObject({ status: 204 });
}

describe.each(kinds.filter((kind) => kind !== 'client 2.x, modern'))('%s', (kind) => {
  it('terminates its session, and the server forgets it', async () => {
    const client = await connect(kind, fixture);
    expect(fixture.router.stats().sessions).toBeGreaterThan(0);
    await client.terminate();
    await eventually(() => fixture.router.stats().sessions === 0);
    expect(fixture.router.stats().sessionsEnded).toEqual({ client: 1 });
  });

  it('is told that its session has ended, connects anew, and goes on', async () => {
    const client = await connect(kind, fixture);
    await endSession(client);
    await expect(client.callTool('echo', { text: 'hello' })).rejects.toMatchObject(
      kind === 'sdk 1.x' ? { code: 404 } : { data: { status: 404 } },
    );
    const again = await connect(kind, fixture);
    expect(again.sessionId).not.toBe(client.sessionId);
    expect(text(await again.callTool('echo', { text: 'hello' }))).toBe('hello');
  });

  it('has its running call aborted with its session', async () => {
    const client = await connect(kind, fixture);
    const call = client.callTool('hold');
    call.catch(() => undefined);
    await fixture.until(() => fixture.ran.includes('hold'));
    await endSession(client);
    await fixture.until(() => fixture.ended.includes('hold'));
  });

  it('comes back by itself for the result of a call whose connection was let go', async () => {
    const client = await connect(kind, fixture);
    expect(text(await client.callTool('leave'))).toBe('left');
  });

  it('hears on its new connection what was said while it had none', async () => {
    const client = await connect(kind, fixture);
    fixture.server.notifyToolsChanged();
    await client.notification('notifications/tools/list_changed');
    // No address to reach it any more: the stream's socket is gone, the session is not.
    fixture.httpServer.closeAllConnections();
    fixture.server.notifyPromptsChanged();
    await client.notification('notifications/prompts/list_changed');
    expect(text(await client.callTool('echo', { text: 'hello' }))).toBe('hello');
  });
});
