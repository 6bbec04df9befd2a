/** `examples/jwt.ts`, started as its first line says, against an authorization server's key set. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { generateKeyPairSync, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { runExample } from '../support/example';
import { closeListeners, listen } from '../support/listen';
import { modern, textOf } from '../support/wire';

const root = path.join(__dirname, '../..');
const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const { privateKey: foreignKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const keySet = JSON.stringify({
  keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k1', alg: 'ES256', use: 'sig' }],
});

let example: ChildProcess;
let issuer: string;
let url: string;
let isDown = false;
let fetches = 0;

/** A token of the issuer for the example, but for `claims` and `header`. */
function token(claims: object = {}, header: object = {}, key = privateKey): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const exp = Math.floor(Date.now() / 1000) + 600;
  const usual = { iss: issuer, aud: url, sub: 'alice', exp, scope: 'openid mcp' };
  const signed = `${encode({ alg: 'ES256', kid: 'k1', ...header })}.${encode({ ...usual, ...claims })}`;
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${signature.toString('base64url')}`;
}

function whoami(bearer: string) {
  return modern({ url }, { Authorization: `Bearer ${bearer}` }).callTool('whoami', {});
}

beforeAll(async () => {
  const base = await listen((_req, res) => {
    fetches++;
    res.writeHead(isDown ? 500 : 200, { 'Content-Type': 'application/json' }).end(keySet);
  });
  issuer = `${base}/`;
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  url = `http://127.0.0.1:${port}/mcp`;
  const env = { ...process.env, PORT: String(port), ISSUER: issuer };
  const stdio = ['ignore', 'pipe', 'ignore'] as const;
  example = spawn(process.execPath, ['-r', 'esbuild-register', 'examples/jwt.ts'], {
    cwd: root,
    env,
    stdio: [...stdio],
  });
  const [line] = (await once(example.stdout as NodeJS.EventEmitter, 'data')) as [Buffer];
  expect(String(line)).toBe(`MCP endpoint: ${url}, for tokens from ${issuer}\n`);
}, 60_000);

afterAll(async () => {
  const ended = once(example, 'close');
  example.kill();
  await ended;
  await closeListeners();
});

describe('the example jwt', () => {
  it('answers 503 while the keys cannot be fetched, never "bad token"', async () => {
    isDown = true;
    const reply = await whoami(token());
    isDown = false;
    expect(reply.status).toBe(503);
    expect(reply.headers).not.toHaveProperty('www-authenticate');
  });

  it('knows the caller by the token, and fetches the keys once', async () => {
    fetches = 0;
    expect(textOf(await whoami(token()))).toBe('You are alice');
    expect(textOf(await whoami(token({ sub: 'bob' })))).toBe('You are bob');
    expect(fetches).toBe(1);
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#token-handling
  it('MUST take only tokens issued for it', async () => {
    const past = Math.floor(Date.now() / 1000) - 60;
    const bad = {
      'another audience': token({ aud: 'https://else.example' }),
      'no audience': token({ aud: undefined }),
      'another issuer': token({ iss: 'https://else.example/' }),
      'no subject': token({ sub: undefined }),
      'no expiry': token({ exp: undefined }),
      'an expiry in the past': token({ exp: past }),
      'another signature': token({}, {}, foreignKey),
      'an unknown key': token({}, { kid: 'k2' }),
      'no algorithm': token({}, { alg: 'none' }),
      'a shared secret': token({}, { alg: 'HS256' }),
      'no JWT': 'abc',
    };
    for (const [what, bearer] of Object.entries(bad)) {
      const { status, headers } = await whoami(bearer);
      expect([what, status, headers['www-authenticate']]).toEqual([
        what,
        401,
        expect.stringContaining('error="invalid_token"'),
      ]);
    }
  });

  it('names the scope that a token lacks, and where to get one', async () => {
    const reply = await whoami(token({ scope: 'openid' }));
    expect(reply.status).toBe(403);
    const challenge = reply.headers['www-authenticate'] ?? '';
    expect(challenge).toContain('scope="mcp"');
    const address = /resource_metadata="([^"]*)"/.exec(challenge)?.[1] ?? '';
    expect(await (await fetch(address)).json()).toMatchObject({ resource: url, authorization_servers: [issuer] });
  });

  it('announces nothing when its port is taken', async () => {
    const second = await runExample('jwt', { PORT: new URL(url).port });
    expect(await second.ended).toBe(1);
    expect(second.output).toContain('EADDRINUSE');
    expect(second.output).not.toContain('MCP endpoint');
  });
});
