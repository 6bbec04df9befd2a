/** `examples/bearer-auth.ts`: who calls, and what their token lets them do. */
import { endExamples, startExample } from '../support/example';
import type { Example } from '../support/example';
import { legacySession, modern, send, textOf } from '../support/wire';

let example: Example;

beforeAll(async () => {
  example = await startExample('bearer-auth');
}, 60_000);
afterAll(endExamples);

const clientOf = (token: string) => modern(example, { Authorization: `Bearer ${token}` });

describe('the example bearer-auth', () => {
  it('MUST answer 401 with the address of the metadata to a request without a token', async () => {
    // https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/authorization-server-discovery
    const reply = await modern(example).callTool('list_notes');
    expect(reply.status).toBe(401);
    const challenge = reply.headers['www-authenticate'] ?? '';
    expect(challenge).not.toContain('error=');
    const metadata = await fetch(/resource_metadata="([^"]*)"/.exec(challenge)?.[1] ?? '');
    expect(await metadata.json()).toMatchObject({
      resource: example.url,
      authorization_servers: ['https://auth.example.com'],
    });
  });

  it('refuses a token that it does not know', async () => {
    const reply = await clientOf('token-of-mallory').callTool('list_notes');
    expect(reply.status).toBe(401);
    expect(reply.headers['www-authenticate']).toContain('error="invalid_token"');
  });

  it('keeps the notes of each caller apart, in both eras', async () => {
    expect(textOf(await clientOf('token-of-alice').callTool('add_note', { text: 'Buy milk' }))).toBe('Noted');
    expect(textOf(await clientOf('token-of-alice').callTool('list_notes'))).toBe('Buy milk');
    expect(textOf(await clientOf('token-of-bob').callTool('list_notes'))).toBe('No notes yet');
    const session = await legacySession(example, { headers: { Authorization: 'Bearer token-of-alice' } });
    expect(textOf(await session.callTool('list_notes'))).toBe('Buy milk');
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#scope-challenge-handling
  it('SHOULD name the scope that a call lacks, and shows the tool all the same', async () => {
    const list = await clientOf('token-of-bob').request('tools/list');
    expect(list.response?.result?.tools).toMatchObject([{ name: 'list_notes' }, { name: 'add_note' }]);
    const reply = await clientOf('token-of-bob').callTool('add_note', { text: 'x' });
    expect(reply.status).toBe(403);
    expect(reply.headers['www-authenticate']).toMatch(/error="insufficient_scope".*scope="notes:write"/);
    expect(reply.text).toContain('Not authorized: This needs the scope notes:write');
  });

  it('lets a preflight through without a token', async () => {
    const headers = { Origin: 'http://localhost:8080', 'Access-Control-Request-Method': 'POST' };
    expect((await send(example.url, { method: 'OPTIONS', headers })).status).toBe(204);
  });
});
