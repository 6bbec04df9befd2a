/** Who gets past `bearerAuth`, and what the others are told. */
import type { IncomingMessage, RequestListener } from 'node:http';
import connect from 'connect';
import express from 'express';
import express4 from 'express4';
import type { RequestHandler } from 'express';
import { authOf, challengeOf, setAuth } from '../../lib/http/auth-info';
import { bearerAuth } from '../../lib/http/bearer-auth';
import type { BearerAuthOptions, VerifiedToken } from '../../lib/http/bearer-auth';
import { ErrorCode, InvalidTokenError } from '../../lib/protocol/errors';
import { send } from '../support/exchange';
import type { Headers, Reply } from '../support/exchange';
import { closeListeners, listen } from '../support/listen';

const tokens: Record<string, VerifiedToken> = {
  T: { principal: 'alice', scopes: ['read', 'write'], claims: { team: 'blue' } },
  'a-._~+/9==': { principal: 'bob' },
};
const verify = (token: string) => tokens[token] ?? null;
const resource = 'https://mcp.example.com/mcp';
const metadata = 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp';

afterEach(closeListeners);

/** An app that shows who came through, at /mcp. */
function appWith(options: Partial<BearerAuthOptions> = {}, make = express): RequestListener {
  const app = make();
  const show: RequestHandler = (req, res) => void res.json(authOf(req) ?? {});
  app.use('/mcp', bearerAuth({ verify, onError: () => undefined, ...options }), show);
  return app;
}

/** POST to a new app with these options. */
async function post(options: Partial<BearerAuthOptions>, authorization?: string | string[]): Promise<Reply> {
  return postTo(await listen(appWith(options)), { Authorization: authorization });
}

async function postTo(url: string, headers: Headers, path = '/mcp'): Promise<Reply> {
  // What came through is not an MCP message; what was refused is, and is checked.
  const reply = await send(url + path, { headers, body: {}, validate: false });
  if (reply.status !== 200) expect(reply.json).toMatchObject({ jsonrpc: '2.0', error: { code: expect.any(Number) } });
  return reply;
}

/** The parameters of the only challenge; fails where it does not parse. */
function challengeIn({ headers }: Reply): Record<string, string> {
  const value = headers['www-authenticate'] ?? '';
  expect(value).toMatch(/^Bearer [a-z_]+="[^"\\]*"(, [a-z_]+="[^"\\]*")*$/);
  const parameters = [...value.matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, name, text]) => [name, text] as const);
  expect(new Set(parameters.map(([name]) => name)).size).toBe(parameters.length);
  return Object.fromEntries(parameters) as Record<string, string>;
}

describe('a good token', () => {
  it.each(['Bearer T', 'bearer T', 'BEARER T', 'Bearer  T'])('comes through as %p', async (authorization) => {
    const reply = await post({}, authorization);
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({ principal: 'alice', scopes: ['read', 'write'], claims: { team: 'blue' } });
  });

  it('may have every character of RFC 6750, and has no scopes unless some are named', async () => {
    expect((await post({}, 'Bearer a-._~+/9==')).json).toEqual({ principal: 'bob', scopes: [] });
  });

  it('is given to verify with its request', async () => {
    const seen: unknown[] = [];
    const look = (token: string, req: IncomingMessage) => {
      seen.push(token, req.method);
      return null;
    };
    await post({ verify: look }, 'Bearer T');
    expect(seen).toEqual(['T', 'POST']);
  });

  it('is taken from a promise too', async () => {
    expect((await post({ verify: async (token) => verify(token) }, 'Bearer T')).json).toMatchObject({
      principal: 'alice',
    });
  });

  it('costs neither a promise nor a timer when verify is synchronous', () => {
    const timers = jest.spyOn(globalThis, 'setTimeout');
    const req = Object.assign(Object.create(null), {
      method: 'POST',
      headers: { authorization: 'Bearer T' },
      rawHeaders: ['authorization', 'Bearer T'],
    });
    let passed = 0;
    bearerAuth({ verify })(req, Object.create(null), () => passed++);
    expect(passed).toBe(1);
    expect(authOf(req)?.principal).toBe('alice');
    expect(timers).not.toHaveBeenCalled();
    timers.mockRestore();
  });

  it('comes through with the expiry that verify named, until then', async () => {
    const expiresAt = Math.floor(Date.now() / 1000) + 60;
    const reply = await post({ verify: () => ({ principal: 'alice', expiresAt }) }, 'Bearer T');
    expect(reply.json).toEqual({ principal: 'alice', scopes: [], expiresAt });
  });
});

describe('a request without a token', () => {
  // RFC 6750, 3.1: "If the request lacks any authentication information […] the resource server SHOULD NOT include an
  // error code or other error information."
  it.each([
    ['no Authorization header', undefined],
    ['the scheme alone', 'Bearer'],
    ['the scheme and a space', 'Bearer '],
    ['another scheme', 'Basic dXNlcjpwYXNz'],
    ['a scheme that begins alike', 'BearerX T'],
    ['an empty header', ''],
  ])('SHOULD get 401 without an error code: %s', async (_, authorization) => {
    const reply = await post({ resource }, authorization);
    expect(reply.status).toBe(401);
    expect(challengeIn(reply)).toEqual({ resource_metadata: metadata });
    expect(reply.json?.error?.code).toBe(ErrorCode.InvalidRequest);
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#token-requirements
  it('MUST NOT have it in the query, nor anywhere but in the header', async () => {
    const url = await listen(appWith({ resource }));
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const inQuery = await postTo(url, {}, '/mcp?access_token=T');
    const inBody = await send(`${url}/mcp`, { headers: form, body: 'access_token=T' });
    const inProxy = await postTo(url, { 'Proxy-Authorization': 'Bearer T', 'X-Authorization': 'Bearer T' });
    expect([inQuery, inBody, inProxy].map(({ status }) => status)).toEqual([401, 401, 401]);
    expect(challengeIn(inQuery)).toEqual({ resource_metadata: metadata });
  });

  it('never reaches verify', async () => {
    const called = jest.fn(verify);
    await post({ verify: called }, 'Basic T');
    expect(called).not.toHaveBeenCalled();
  });

  it('passes when it is a preflight, as nobody', async () => {
    const reply = await send(`${await listen(appWith())}/mcp`, { method: 'OPTIONS', validate: false });
    expect(reply).toMatchObject({ status: 200, text: '{}' });
  });
});

describe('credentials that are no single token', () => {
  it.each([
    ['two tokens in one line', 'Bearer T,Bearer U'],
    ['two words', 'Bearer T U'],
    ['a quote', 'Bearer "T"'],
    ['a character that no token has', 'Bearer T%20'],
    ['padding in the middle', 'Bearer T=T'],
    ['two lines', ['Bearer T', 'Bearer T']],
    ['two lines of two schemes', ['Basic dXNlcjpwYXNz', 'Bearer T']],
  ])('get 401: %s', async (_, authorization) => {
    const called = jest.fn(verify);
    const reply = await post({ resource, verify: called }, authorization);
    expect(reply.status).toBe(401);
    expect(challengeIn(reply)).toMatchObject({ resource_metadata: metadata, error: 'invalid_token' });
    expect(called).not.toHaveBeenCalled();
  });
});

describe('a bad token', () => {
  // https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#token-handling
  it.each<[string, BearerAuthOptions['verify']]>([
    ['null', () => null],
    ['a promise of null', async () => null],
    ['InvalidTokenError', () => Promise.reject(new InvalidTokenError(''))],
    ['an expiry in the past', () => ({ principal: 'alice', expiresAt: Math.floor(Date.now() / 1000) - 1 })],
    ['an expiry long past', () => ({ principal: 'alice', expiresAt: 0 })],
  ])('MUST get 401: %s', async (_, answer) => {
    const onError = jest.fn();
    const reply = await post({ resource, scopes: ['read'], onError, verify: answer }, 'Bearer T');
    expect(reply.status).toBe(401);
    const challenge = { resource_metadata: metadata, error: 'invalid_token', scope: 'read' };
    expect(challengeIn(reply)).toEqual({ ...challenge, error_description: expect.any(String) });
    expect(reply.json?.error?.code).toBe(ErrorCode.InvalidRequest);
    expect(onError).not.toHaveBeenCalled();
  });

  it('expires at its second, not after it', async () => {
    const now = jest.spyOn(Date, 'now').mockReturnValue(2_000_000);
    const verifyAt = (expiresAt: number) => post({ verify: () => ({ principal: 'alice', expiresAt }) }, 'Bearer T');
    expect((await verifyAt(2_000)).status).toBe(401);
    expect((await verifyAt(2_000.001)).status).toBe(200);
    now.mockRestore();
  });

  it('is explained in words that cannot break out of the header', async () => {
    const verdict = 'bad "aud" \\\r\nX-Evil: 1 \u4f60\u{1f600}\0, scope="admin"';
    const reply = await post({ verify: () => Promise.reject(new InvalidTokenError(verdict)) }, 'Bearer T');
    expect(reply.status).toBe(401);
    expect(reply.headers).not.toHaveProperty('x-evil');
    expect(challengeIn(reply).error_description).toBe("bad 'aud' ? X-Evil: 1 ???, scope='admin'");
  });

  it('is explained in 200 characters at most', async () => {
    const error = new InvalidTokenError('x'.repeat(100_000));
    const reply = await post({ verify: () => Promise.reject(error) }, 'Bearer T');
    expect(challengeIn(reply).error_description).toBe('x'.repeat(200));
  });

  it('is explained last, so that its words are no parameter to clients that search', async () => {
    const error = new InvalidTokenError('no scope=admin');
    const reply = await post({ scopes: ['read'], verify: () => Promise.reject(error) }, 'Bearer T');
    expect(/scope=(?:"([^"]+)"|([^\s,]+))/.exec(reply.headers['www-authenticate'] ?? '')?.[1]).toBe('read');
  });
});

describe('a token that lacks a scope', () => {
  // https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#runtime-insufficient-scope-errors
  it('SHOULD get 403 with all the scopes that are needed', async () => {
    const reply = await post({ resource, scopes: ['read', 'admin'] }, 'Bearer T');
    expect(reply.status).toBe(403);
    expect(challengeIn(reply)).toEqual({
      resource_metadata: metadata,
      error: 'insufficient_scope',
      error_description: 'The token needs the scopes read, admin',
      scope: 'read admin',
    });
    expect(reply.json?.error?.code).toBe(ErrorCode.InvalidRequest);
  });

  it('comes through when it has all of them', async () => {
    expect((await post({ scopes: ['write', 'read'] }, 'Bearer T')).status).toBe(200);
  });

  it('SHOULD be told of the scopes before it has any token', async () => {
    expect(challengeIn(await post({ resource, scopes: ['read', 'admin'] }))).toEqual({
      resource_metadata: metadata,
      scope: 'read admin',
    });
  });
});

describe('a verify that fails', () => {
  const failure = new Error('ECONNREFUSED /home/app/verify.js');
  it.each<[string, BearerAuthOptions['verify'], unknown]>([
    [
      'throws',
      () => {
        throw failure;
      },
      failure,
    ],
    ['rejects', () => Promise.reject(failure), failure],
    ['rejects with a non-Error', () => Promise.reject('token expired'), 'token expired'],
    ['rejects with nothing', () => Promise.reject(), undefined],
    ['answers undefined', () => undefined as never, expect.any(TypeError)],
    ['answers true', () => true as never, expect.any(TypeError)],
    ['names no principal', () => ({}) as never, expect.any(TypeError)],
    ['names an empty principal', () => ({ principal: '' }), expect.any(TypeError)],
    ['names a principal that is no string', () => ({ principal: 7 }) as never, expect.any(TypeError)],
    ['names scopes in one string', () => ({ principal: 'alice', scopes: 'admin' }) as never, expect.any(TypeError)],
    ['names an expiry in milliseconds', () => ({ principal: 'alice', expiresAt: Date.now() }), expect.any(TypeError)],
    ['names an expiry that is no number', () => ({ principal: 'alice', expiresAt: NaN }), expect.any(TypeError)],
  ])('is an outage, not a bad token, when it %s', async (_, answer, heard) => {
    const onError = jest.fn();
    const reply = await post({ verify: answer, onError }, 'Bearer T');
    expect(reply.status).toBe(503);
    expect(reply.headers).not.toHaveProperty('www-authenticate');
    expect(reply.headers['retry-after']).toMatch(/^\d+$/);
    expect(reply.json?.error).toEqual({ code: ErrorCode.InternalError, message: 'The token cannot be checked now' });
    expect(onError.mock.calls).toEqual([[heard, expect.objectContaining({ method: 'POST' })]]);
  });

  it('tells onError what an answer lacks', async () => {
    const onError = jest.fn();
    await post({ verify: () => ({ sub: 'alice' }) as never, onError }, 'Bearer T');
    expect(String(onError.mock.calls[0]?.[0])).toMatch(/verify must return null, or an object with a principal/);
  });

  it('is given up after verifyTimeoutMs, and its late rejection hurts nobody', async () => {
    const onError = jest.fn();
    let reject: (error: Error) => void = () => undefined;
    const never = () => new Promise<never>((_, fail) => (reject = fail));
    const reply = await post({ verify: never, verifyTimeoutMs: 20, onError }, 'Bearer T');
    expect(reply.status).toBe(503);
    expect(reply.headers).not.toHaveProperty('www-authenticate');
    expect(String(onError.mock.calls[0]?.[0])).toBe('Error: bearerAuth: verify gave no answer in 20 ms');
    reject(new Error('late'));
    await new Promise(setImmediate);
    expect(onError).toHaveBeenCalledTimes(1);
  });

  it('leaves no timer behind when it answers in time', async () => {
    const cleared = jest.spyOn(globalThis, 'clearTimeout');
    const started = jest.spyOn(globalThis, 'setTimeout');
    await post({ verify: async (token) => verify(token), verifyTimeoutMs: 9_876 }, 'Bearer T');
    const call = started.mock.calls.findIndex(([, ms]) => ms === 9_876);
    const timer = started.mock.results[call]?.value as NodeJS.Timeout;
    expect(timer.hasRef()).toBe(false);
    expect(cleared).toHaveBeenCalledWith(timer);
    started.mockRestore();
    cleared.mockRestore();
  });

  it('goes to console.error by default, without the request and its token', async () => {
    const logged = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    await post({ verify: () => Promise.reject(failure), onError: undefined }, 'Bearer T');
    expect(logged.mock.calls).toEqual([[failure]]);
    logged.mockRestore();
  });

  const broken = new Error('logger');
  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw broken;
      },
    ],
    ['rejects', () => Promise.reject(broken)],
  ])('is answered even when onError %s', async (_, onError) => {
    const logged = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    expect((await post({ verify: () => Promise.reject(failure), onError }, 'Bearer T')).status).toBe(503);
    expect(logged).toHaveBeenCalledWith('express-mcp:', broken);
    logged.mockRestore();
  });

  it.each<[string, (token: string) => VerifiedToken | null]>([
    ['good', verify],
    ['bad', () => null],
  ])('is passed over when the host has answered meanwhile: a %s token', async (_, verdict) => {
    let passed = 0;
    let settled: Promise<void> | undefined;
    const app = express();
    app.use((req, res, next) => {
      const slow = async (token: string) => {
        res.status(408).json({ jsonrpc: '2.0', error: { code: -32600, message: 'too slow' } });
        settled = new Promise<void>(setImmediate);
        return verdict(token);
      };
      bearerAuth({ verify: slow })(req, res, () => (passed++, next()));
    });
    const reply = await postTo(await listen(app), { Authorization: 'Bearer T' });
    await settled;
    expect(reply.status).toBe(408);
    expect(passed).toBe(0);
  });
});

describe('the address of the metadata', () => {
  it.each([
    ['Express 5', express],
    ['Express 4', express4],
  ])('is that of the request in an app of %s, whatever the mount', async (_, make) => {
    const app = make();
    const auth = bearerAuth({ verify });
    const nested = make.Router();
    const outer = make.Router();
    nested.use('/mcp', auth);
    outer.use('/v1', nested);
    const inner = make();
    inner.use('/tools', auth);
    app.use('/mcp', auth);
    app.use('/api', outer);
    app.use('/inner', inner);
    app.all('/route', auth as RequestHandler);
    app.use(auth);
    const url = await listen(app);
    const addressFor = async (path: string) => challengeIn(await postTo(url, {}, path)).resource_metadata;
    const wellKnown = `${url}/.well-known/oauth-protected-resource`;
    for (const path of ['/mcp', '/api/v1/mcp', '/inner/tools', '/route', '/rest']) {
      expect(await addressFor(path)).toBe(wellKnown + path);
      expect(await addressFor(`${path}/?x=1`)).toBe(wellKnown + path);
    }
    expect(await addressFor('/')).toBe(wellKnown);
    expect(await addressFor('/mcp/"a\\b')).toBe(`${wellKnown}/mcp/%22a/b`);
    expect(await addressFor('//evil.example/mcp')).toBe(`${wellKnown}//evil.example/mcp`);
  });

  const forwarded = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'mcp.example.com:8443' };

  it.each([
    ['Express 5', express],
    ['Express 4', express4],
  ])('follows the headers of a proxy that an app of %s trusts', async (_, make) => {
    const app = make();
    app.set('trust proxy', 1);
    const inner = make();
    inner.use('/tools', bearerAuth({ verify }));
    app.use('/inner', inner);
    app.use('/mcp', bearerAuth({ verify }));
    app.use('/fixed', bearerAuth({ verify, resource }));
    const url = await listen(app);
    const addressFor = async (path: string, headers: Headers) =>
      challengeIn(await postTo(url, headers, path)).resource_metadata;
    const base = 'https://mcp.example.com:8443/.well-known/oauth-protected-resource';
    expect(await addressFor('/mcp', forwarded)).toBe(`${base}/mcp`);
    expect(await addressFor('/inner/tools', forwarded)).toBe(`${base}/inner/tools`);
    expect(await addressFor('/mcp', { ...forwarded, 'X-Forwarded-Host': 'MCP.example.com:443 , inner' })).toBe(
      metadata,
    );
    expect(await addressFor('/fixed', { ...forwarded, Host: 'evil.example' })).toBe(metadata);
    expect(await addressFor('/mcp', { ...forwarded, 'X-Forwarded-Host': 'x", evil="' })).toBeUndefined();
    expect(await addressFor('/mcp', { ...forwarded, 'X-Forwarded-Proto': 'javascript' })).toBeUndefined();
  });

  it.each([
    ['Express 5', express],
    ['Express 4', express4],
  ])('ignores the headers of a proxy that an app of %s does not trust', async (_, make) => {
    const url = await listen(appWith({}, make));
    const reply = await postTo(url, forwarded);
    expect(challengeIn(reply).resource_metadata).toBe(`${url}/.well-known/oauth-protected-resource/mcp`);
  });

  it('keeps the port and the brackets of the Host', async () => {
    const reply = await postTo(await listen(appWith()), { Host: '[::1]:3000' });
    expect(challengeIn(reply).resource_metadata).toBe('http://[::1]:3000/.well-known/oauth-protected-resource/mcp');
  });

  it.each(['user@evil.example', 'evil.example/x', 'a:b:c', 'a b', 'a:99999'])(
    'is left out when the Host is %p',
    async (host) => {
      const reply = await postTo(await listen(appWith()), { Host: host });
      expect(reply.status).toBe(401);
      // RFC 6750, 3: the scheme MUST be followed by one or more parameters.
      expect(challengeIn(reply)).toEqual({ realm: 'mcp' });
    },
  );

  it('is that of resource, else left out, where there is no Express to say what to trust', async () => {
    const app = connect();
    app.use('/mcp', bearerAuth({ verify }));
    app.use('/fixed', bearerAuth({ verify, resource: 'https://mcp.example.com/mcp' }));
    const url = await listen(app);
    expect(challengeIn(await postTo(url, forwarded))).toEqual({ realm: 'mcp' });
    expect(challengeIn(await postTo(url, forwarded, '/fixed'))).toEqual({ resource_metadata: metadata });
    const plain = await listen((req, res) => bearerAuth({ verify })(req, res, () => res.end()));
    expect(challengeIn(await postTo(plain, forwarded))).toEqual({ realm: 'mcp' });
  });

  it('can be any other URL, or none', async () => {
    const elsewhere = 'https://example.com/meta';
    expect(challengeIn(await post({ resource, resourceMetadata: elsewhere }))).toEqual({
      resource_metadata: elsewhere,
    });
    expect(challengeIn(await post({ resource, resourceMetadata: false, scopes: ['a'] }))).toEqual({ scope: 'a' });
  });

  it('of a resource without a path is the well-known path alone', async () => {
    expect(challengeIn(await post({ resource: 'https://Example.com' })).resource_metadata).toBe(
      'https://example.com/.well-known/oauth-protected-resource',
    );
  });
});

describe('the caller on the request', () => {
  it('brings a challenge for later refusals, with the scopes of the mount and of the operation', async () => {
    const app = express();
    const auth = bearerAuth({ verify, resource, scopes: ['read'] });
    app.use(auth, (req, res) => {
      const value = challengeOf(req)?.({
        error: 'insufficient_scope',
        description: 'Say "please"',
        scope: ['x', 'read'],
      });
      res.set('WWW-Authenticate', value).json({});
    });
    const reply = await postTo(await listen(app), { Authorization: 'Bearer T' });
    expect(challengeIn(reply)).toEqual({
      resource_metadata: metadata,
      error: 'insufficient_scope',
      error_description: "Say 'please'",
      scope: 'read x',
    });
  });

  it('is nobody when bearerAuth did not run, whatever the request has on it', () => {
    const req = Object.assign(Object.create(null), {
      auth: { principal: 'eve' },
      user: 'eve',
      'express-mcp: auth': {},
    });
    expect(authOf(req)).toBeUndefined();
    expect(challengeOf(req)).toBeUndefined();
  });

  it('is the last one that was set', () => {
    const req = Object.create(null);
    setAuth(req, { principal: 'a', scopes: [] }, () => 'A');
    setAuth(req, { principal: 'b', scopes: [] }, () => 'B');
    expect(authOf(req)).toEqual({ principal: 'b', scopes: [] });
    expect(challengeOf(req)?.({})).toBe('B');
  });
});

describe('misuse', () => {
  it.each<[Record<string, unknown>, RegExp]>([
    [{ verify: undefined }, /bearerAuth: verify must be a function of the token, got undefined/],
    [
      { resource: 'example.com/mcp' },
      /bearerAuth: resource must be the endpoint's URL, absolute.* got 'example.com\/mcp'/,
    ],
    [{ resource: 'https://example.com/mcp#a' }, /bearerAuth: resource .* fragment/],
    [{ resource: 'https://example.com/mcp?a' }, /bearerAuth: resource .* query/],
    [{ resource: 'ftp://example.com/mcp' }, /bearerAuth: resource/],
    [{ resource: 'https://user:secret@example.com/mcp' }, /bearerAuth: resource/],
    [{ resource: new URL('https://example.com/mcp') }, /bearerAuth: resource/],
    [{ resource: 'nonsense', resourceMetadata: false }, /bearerAuth: resource/],
    [
      { resourceMetadata: '/meta' },
      /bearerAuth: resourceMetadata must be the URL of the metadata, or false.* '\/meta'/,
    ],
    [{ resourceMetadata: true }, /bearerAuth: resourceMetadata/],
    [{ scopes: 'read write' }, /bearerAuth: scopes must be an array of scopes.* 'read write'/],
    [{ scopes: ['read write'] }, /bearerAuth: scopes has 'read write'/],
    [{ scopes: ['"'] }, /bearerAuth: scopes has '"'/],
    [{ scopes: [''] }, /bearerAuth: scopes has ''/],
    [{ scopes: ['offline_access'] }, /refresh tokens/],
    [{ onError: 'log' }, /bearerAuth: onError must be a function, got 'log'/],
  ])('throws a TypeError at the call: %p', (options, message) => {
    const call = () => bearerAuth({ verify, ...options } as BearerAuthOptions);
    expect(call).toThrow(TypeError);
    expect(call).toThrow(message);
  });

  it.each([0, -1, 0.5, NaN, Infinity, 2 ** 31])(
    'throws a RangeError at the call: verifyTimeoutMs %p',
    (verifyTimeoutMs) => {
      expect(() => bearerAuth({ verify, verifyTimeoutMs })).toThrow(RangeError);
      expect(() => bearerAuth({ verify, verifyTimeoutMs })).toThrow(
        /verifyTimeoutMs must be whole milliseconds from 1 to/,
      );
    },
  );

  it('takes undefined for absent', () => {
    const absent = { scopes: undefined, resource: undefined, resourceMetadata: undefined, onError: undefined };
    expect(bearerAuth({ verify, verifyTimeoutMs: undefined, ...absent }).name).toBe('bearerAuthMiddleware');
  });

  it('keeps no hold of the options', async () => {
    const scopes = ['read'];
    const app = appWith({ scopes });
    scopes.push('admin');
    expect((await postTo(await listen(app), { Authorization: 'Bearer T' })).status).toBe(200);
  });
});
