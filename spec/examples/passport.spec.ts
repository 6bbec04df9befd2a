/** `examples/passport.ts`: passport's user is the principal. */
import { endExamples, startExample } from '../support/example';
import type { Example } from '../support/example';
import { legacySession, modern, textOf } from '../support/wire';

let example: Example;

beforeAll(async () => {
  example = await startExample('passport');
}, 60_000);
afterAll(endExamples);

describe('the example passport', () => {
  it('knows the caller by the user of passport, in both eras', async () => {
    const headers = { Authorization: 'Bearer token-of-alice' };
    expect(textOf(await modern(example, headers).callTool('whoami'))).toBe('You are Alice, number 1');
    const session = await legacySession(example, { headers });
    expect(textOf(await session.callTool('whoami'))).toBe('You are Alice, number 1');
  });

  it('refuses what passport refuses, with its challenge', async () => {
    const headers = { Authorization: 'Bearer token-of-mallory' };
    const reply = await modern(example, headers).callTool('whoami', {}, { validate: false });
    expect(reply.status).toBe(401);
    expect(reply.headers['www-authenticate']).toContain('Bearer');
  });

  it('hides the session of one user from another', async () => {
    const { sessionId } = await legacySession(example, { headers: { Authorization: 'Bearer token-of-alice' } });
    const bob = await legacySession(example, { headers: { Authorization: 'Bearer token-of-bob' } });
    const reply = await bob.callTool('whoami', {}, { headers: { 'Mcp-Session-Id': sessionId } });
    expect(reply.status).toBe(404);
    expect(textOf(await bob.callTool('whoami'))).toBe('You are Bob, number 2');
  });
});
