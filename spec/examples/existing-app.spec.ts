/** `examples/existing-app.ts`: the endpoint behind the app's own login. */
import { endExamples, startExample } from '../support/example';
import type { Example } from '../support/example';
import { legacySession, modern, send, textOf } from '../support/wire';

let example: Example;

beforeAll(async () => {
  example = await startExample('existing-app');
}, 60_000);
afterAll(endExamples);

async function login(form: Record<string, string>): Promise<Response> {
  return fetch(new URL('/login', example.url), { method: 'POST', body: new URLSearchParams(form) });
}

async function cookieOfAlice(): Promise<string> {
  const response = await login({ user: 'alice', password: 'wonderland' });
  expect(response.status).toBe(200);
  return response.headers.get('set-cookie')?.split(';', 1)[0] ?? '';
}

describe('the example existing-app', () => {
  it('knows the caller by the login of the app, in both eras', async () => {
    const headers = { Cookie: `theme=dark; ${await cookieOfAlice()}` };
    expect(textOf(await modern(example, headers).callTool('whoami'))).toBe('You are alice');
    const session = await legacySession(example, { headers });
    expect(textOf(await session.callTool('whoami'))).toBe('You are alice');
  });

  it.each<Record<string, string>>([
    {},
    { user: 'alice' },
    { user: 'alice', password: 'x' },
    { user: 'mallory' },
    { user: '__proto__' },
  ])('lets nobody in with %j', async (form) => {
    const response = await login(form);
    expect(response.status).toBe(401);
    expect(response.headers.has('set-cookie')).toBe(false);
  });

  it('refuses a call without a login', async () => {
    const reply = await modern(example, { Cookie: 'login=guessed' }).callTool('whoami', {}, { validate: false });
    expect(reply.status).toBe(401);
  });

  it('does not let another user into a session', async () => {
    const session = await legacySession(example, { headers: { Cookie: await cookieOfAlice() } });
    const reply = await session.callTool('whoami', {}, { headers: { Cookie: undefined }, validate: false });
    expect(reply.status).toBe(401);
  });

  it('refuses a foreign page, whose visitor is logged in, before the login is asked', async () => {
    const headers = { Cookie: await cookieOfAlice(), Origin: 'https://evil.example' };
    const reply = await modern(example, headers).callTool('whoami');
    expect(reply.status).toBe(403);
    expect(reply.headers).not.toHaveProperty('access-control-allow-origin');
  });

  it('answers preflights, which carry no login', async () => {
    const headers = { Origin: 'http://localhost:8080', 'Access-Control-Request-Method': 'POST' };
    const reply = await send(example.url, { method: 'OPTIONS', headers });
    expect(reply.status).toBe(204);
    expect(reply.headers['access-control-allow-origin']).toBe('http://localhost:8080');
  });
});
