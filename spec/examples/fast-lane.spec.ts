/** `examples/fast-lane.ts`: the endpoint in front of the app, with everything that it needs. */
import { endExamples, startExample } from '../support/example';
import type { Example } from '../support/example';
import { legacySession, modern, send, textOf } from '../support/wire';

let example: Example;
const headers = { Authorization: 'Bearer token-of-alice' };

beforeAll(async () => {
  example = await startExample('fast-lane');
}, 60_000);
afterAll(endExamples);

describe('the example fast-lane', () => {
  it('knows the caller by the token, in both eras', async () => {
    expect(textOf(await modern(example, headers).callTool('echo', { text: 'hi' }))).toBe('alice: hi');
    const session = await legacySession(example, { headers });
    expect(textOf(await session.callTool('echo', { text: 'hi' }))).toBe('alice: hi');
  });

  it('refuses a call without a token, and says where to get one', async () => {
    const reply = await modern(example).callTool('echo', { text: 'hi' }, { validate: false });
    expect(reply.status).toBe(401);
    const [, metadata = ''] = /resource_metadata="([^"]+)"/.exec(reply.headers['www-authenticate'] ?? '') ?? [];
    const page = await fetch(metadata);
    expect(await page.json()).toMatchObject({ resource: example.url });
  });

  it('refuses a foreign page before its token is looked at', async () => {
    const reply = await modern(example, { ...headers, Origin: 'https://evil.example' }).callTool('echo', {
      text: 'hi',
    });
    expect(reply.status).toBe(403);
  });

  it('answers preflights, which carry no token', async () => {
    const preflight = { Origin: 'http://localhost:8080', 'Access-Control-Request-Method': 'POST' };
    expect((await send(example.url, { method: 'OPTIONS', headers: preflight })).status).toBe(204);
  });

  it('leaves every other path to the app', async () => {
    const page = await fetch(new URL('/', example.url));
    expect(await page.text()).toBe('A page of the app');
    expect((await fetch(new URL('/nowhere', example.url))).status).toBe(404);
  });
});
