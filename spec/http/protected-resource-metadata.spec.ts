/** What clients find at the well-known path, and that the challenge of `bearerAuth` leads there. */
import {
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
} from '@modelcontextprotocol/sdk/client/auth.js';
import connect from 'connect';
import express from 'express';
import express4 from 'express4';
import type { Express } from 'express';
import { bearerAuth } from '../../lib/http/bearer-auth';
import { protectedResourceMetadata } from '../../lib/http/protected-resource-metadata';
import type { ProtectedResourceMetadataOptions } from '../../lib/http/protected-resource-metadata';
import { send } from '../support/exchange';
import type { Headers, Reply } from '../support/exchange';
import { closeListeners, listen } from '../support/listen';

const wellKnown = '/.well-known/oauth-protected-resource';
const authorizationServers = ['https://auth.example.com'];
const verify = () => null;
const bothExpress: [string, typeof express][] = [
  ['Express 5', express],
  ['Express 4', express4],
];

afterEach(closeListeners);

function get(url: string, headers?: Headers): Promise<Reply> {
  return send(url, { method: 'GET', headers, validate: false });
}

/** The document that the challenge of the endpoint at `path` leads to, through the same server whatever host it names. */
async function followChallenge(url: string, path: string, headers?: Headers) {
  const refused = await send(url + path, { headers, body: {} });
  expect(refused.status).toBe(401);
  const address = /resource_metadata="([^"]*)"/.exec(refused.headers['www-authenticate'] ?? '')?.[1] ?? '';
  const { pathname } = new URL(address);
  const found = await get(url + pathname, headers);
  expect(found.status).toBe(200);
  return { address, document: JSON.parse(found.text) as { resource: string; authorization_servers: string[] } };
}

/** An app with the metadata of `options` at its root. */
function appWith(options: Partial<ProtectedResourceMetadataOptions> = {}, make = express): Express {
  const app = make();
  app.use(protectedResourceMetadata({ authorizationServers, ...options }));
  return app;
}

describe('the document', () => {
  it('has the members of RFC 9728, as JSON that any origin may read and caches may keep', async () => {
    const resource = 'https://mcp.example.com/mcp';
    const metadata = { resource_name: 'Weather', dpop_bound_access_tokens_required: false };
    const url = await listen(appWith({ resource, scopes: ['read', 'write'], metadata }));
    const reply = await get(`${url}${wellKnown}/mcp`, { Origin: 'https://app.example' });
    expect(reply.status).toBe(200);
    expect(reply.headers).toMatchObject({
      'content-type': 'application/json',
      'access-control-allow-origin': '*',
      'cache-control': 'public, max-age=600',
    });
    expect(JSON.parse(reply.text)).toEqual({
      resource,
      authorization_servers: authorizationServers,
      scopes_supported: ['read', 'write'],
      bearer_methods_supported: ['header'],
      resource_name: 'Weather',
      dpop_bound_access_tokens_required: false,
    });
  });

  it('says nothing of scopes when there is nothing to say', async () => {
    const reply = await get(`${await listen(appWith())}${wellKnown}/mcp`);
    expect(Object.keys(JSON.parse(reply.text) as object)).not.toContain('scopes_supported');
  });

  it('is not kept in shared caches when it was made from headers', async () => {
    const reply = await get(`${await listen(appWith())}${wellKnown}/mcp`);
    expect(reply.headers['cache-control']).toBe('private, max-age=600');
  });

  it('does not change when the options do, after the call', async () => {
    const options = { authorizationServers: ['https://auth.example.com'], metadata: { a: { b: 1 } } };
    const app = appWith(options);
    options.authorizationServers.push('https://evil.example');
    options.metadata.a.b = 2;
    const reply = await get(`${await listen(app)}${wellKnown}`);
    expect(JSON.parse(reply.text)).toMatchObject({ authorization_servers: authorizationServers, a: { b: 1 } });
  });
});

describe('the way from the challenge to the document', () => {
  // https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/authorization-server-discovery
  // RFC 9728, 3.3: `resource` MUST be identical to the URL that the client used.
  it.each(bothExpress)('MUST end at the URL of the endpoint, on any mount of an app of %s', async (_, make) => {
    const app = appWith({}, make);
    const nested = make.Router();
    const outer = make.Router();
    nested.use('/mcp', bearerAuth({ verify }));
    outer.use('/v1', nested);
    app.use('/mcp', bearerAuth({ verify }));
    app.use('/api', outer);
    app.use('/', bearerAuth({ verify }));
    const url = await listen(app);
    for (const path of ['/mcp', '/MCP', '/api/v1/mcp', '']) {
      const { address, document } = await followChallenge(url, path);
      expect(address).toBe(url + wellKnown + path);
      expect(document.resource).toBe(url + path);
      expect(document.authorization_servers).toEqual(authorizationServers);
    }
    // The same endpoint, whatever way it was spelled.
    for (const path of ['/mcp/', '/mcp?x=1']) {
      expect((await followChallenge(url, path)).document.resource).toBe(`${url}/mcp`);
    }
  });

  const forwarded = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'mcp.example.com' };

  it.each(bothExpress)('follows the proxy that an app of %s trusts', async (_, make) => {
    const app = make();
    app.set('trust proxy', 1);
    app.use(protectedResourceMetadata({ authorizationServers }));
    app.use('/mcp', bearerAuth({ verify }));
    expect(await followChallenge(await listen(app), '/mcp', forwarded)).toMatchObject({
      address: `https://mcp.example.com${wellKnown}/mcp`,
      document: { resource: 'https://mcp.example.com/mcp' },
    });
  });

  it.each(bothExpress)('ignores the proxy that an app of %s does not trust', async (_, make) => {
    const app = appWith({}, make);
    app.use('/mcp', bearerAuth({ verify }));
    const url = await listen(app);
    expect(await followChallenge(url, '/mcp', forwarded)).toMatchObject({
      address: `${url}${wellKnown}/mcp`,
      document: { resource: `${url}/mcp` },
    });
  });

  it('is what resource says, whatever the headers and the mount', async () => {
    const resource = 'https://example.com/tools/mcp/';
    const app = express();
    app.set('trust proxy', true);
    app.use(protectedResourceMetadata({ authorizationServers, resource }));
    app.use('/mcp', bearerAuth({ verify, resource }));
    const headers = { 'X-Forwarded-Proto': 'http', 'X-Forwarded-Host': 'evil.example', Host: 'evil.example' };
    expect(await followChallenge(await listen(app), '/mcp', headers)).toMatchObject({
      address: `https://example.com${wellKnown}/tools/mcp/`,
      document: { resource },
    });
  });

  it('is found by the clients in use, from the challenge and without it', async () => {
    const app = appWith({ scopes: ['read'] });
    app.use('/mcp', bearerAuth({ verify, scopes: ['read', 'write'] }));
    const url = await listen(app);
    const refused = await fetch(`${url}/mcp`, { method: 'POST', headers: { Authorization: 'Bearer T' } });
    const challenge = extractWWWAuthenticateParams(refused);
    expect(challenge).toMatchObject({ scope: 'read write', error: 'invalid_token' });
    const { resourceMetadataUrl } = challenge;
    const document = {
      resource: `${url}/mcp`,
      authorization_servers: authorizationServers,
      scopes_supported: ['read'],
    };
    for (const options of [{ resourceMetadataUrl }, {}]) {
      const found = await discoverOAuthProtectedResourceMetadata(`${url}/mcp`, options);
      expect(found).toMatchObject(document);
    }
  });

  it('is the same without Express, when both are told the resource', async () => {
    const app = connect();
    const resource = 'https://mcp.example.com';
    app.use(protectedResourceMetadata({ authorizationServers, resource }));
    app.use('/', bearerAuth({ verify, resource }));
    expect(await followChallenge(await listen(app), '/')).toMatchObject({
      address: `https://mcp.example.com${wellKnown}`,
      document: { resource },
    });
  });
});

describe('which requests are answered', () => {
  it('are those for the endpoint of resource', async () => {
    const url = await listen(appWith({ resource: 'https://mcp.example.com/mcp' }));
    const statuses = async (...paths: string[]) =>
      Promise.all(paths.map(async (path) => (await get(url + path)).status));
    expect(await statuses(`${wellKnown}/mcp`, `${wellKnown}/mcp/`, `${wellKnown}/mcp?x=1`)).toEqual([200, 200, 200]);
    expect(await statuses(wellKnown, `${wellKnown}/other`, `${wellKnown}/mcp/x`)).toEqual([404, 404, 404]);
    expect(await statuses('/mcp', `/x${wellKnown}/mcp`, `${wellKnown}x/mcp`, `/?${wellKnown}`)).toEqual(
      Array(4).fill(404),
    );
  });

  it('are those for paths, in any case', async () => {
    const url = await listen(appWith({ paths: ['/mcp', '/api/v1/mcp/', '/'] }));
    for (const path of ['/mcp', '/MCP', '/api/v1/mcp', '']) {
      expect(JSON.parse((await get(url + wellKnown + path)).text)).toMatchObject({ resource: url + path });
    }
    expect((await get(`${url}${wellKnown}/other`)).status).toBe(404);
  });

  it('can be shared between several, each with its own endpoints', async () => {
    const app = appWith({ paths: ['/a'], scopes: ['a'] });
    app.use(protectedResourceMetadata({ authorizationServers, paths: ['/b'], scopes: ['b'] }));
    const url = await listen(app);
    expect(JSON.parse((await get(`${url}${wellKnown}/a`)).text)).toMatchObject({ scopes_supported: ['a'] });
    expect(JSON.parse((await get(`${url}${wellKnown}/b`)).text)).toMatchObject({ scopes_supported: ['b'] });
  });

  it('are the same when it is mounted at the well-known path itself', async () => {
    const app = express();
    app.use(wellKnown, protectedResourceMetadata({ authorizationServers }));
    const url = await listen(app);
    expect(JSON.parse((await get(`${url}${wellKnown}/mcp`)).text)).toMatchObject({ resource: `${url}/mcp` });
  });

  it('are GET, HEAD and the preflight; every other method is the host app’s', async () => {
    const app = appWith();
    app.use((req, res) => void res.status(418).json({ jsonrpc: '2.0', error: { code: 1, message: req.method } }));
    const address = `${await listen(app)}${wellKnown}/mcp`;
    const head = await send(address, { method: 'HEAD', validate: false });
    expect(head).toMatchObject({ status: 200, text: '' });
    expect(Number(head.headers['content-length'])).toBeGreaterThan(0);
    const headers = { Origin: 'https://app.example', 'Access-Control-Request-Headers': 'mcp-protocol-version' };
    const preflight = await send(address, { method: 'OPTIONS', headers, validate: false });
    expect(preflight).toMatchObject({ status: 204, text: '' });
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET',
      'access-control-allow-headers': '*',
    });
    for (const method of ['POST', 'PUT', 'DELETE'] as const) {
      expect((await send(address, { method, validate: false })).status).toBe(418);
    }
  });

  it.each(['user@evil.example', 'a"b', 'a:b:c', 'evil.example/x'])('are not those with the Host %p', async (host) => {
    const reply = await send(`${await listen(appWith())}${wellKnown}/mcp`, { method: 'GET', headers: { Host: host } });
    expect(reply.status).toBe(400);
    expect(reply.json?.error).toEqual({ code: -32600, message: 'The Host header is missing or malformed' });
  });

  it('are refused by name of the option outside an Express app, where nothing says which host to believe', async () => {
    const app = connect();
    app.use(protectedResourceMetadata({ authorizationServers }));
    const middleware = protectedResourceMetadata({ authorizationServers });
    const plain = await listen((req, res) => middleware(req, res, () => res.writeHead(404).end()));
    for (const url of [await listen(app), plain]) {
      const reply = await get(`${url}${wellKnown}/mcp`, { 'X-Forwarded-Host': 'evil.example' });
      expect(reply.status).toBe(500);
      expect(reply.json?.error?.message).toMatch(/needs the option "resource" outside an Express app/);
      expect((await get(`${url}/mcp`)).status).toBe(404);
    }
  });
});

describe('misuse', () => {
  it.each<[Record<string, unknown>, RegExp]>([
    [{ authorizationServers: undefined }, /authorizationServers must be an array .* at least one .*, got undefined/],
    [{ authorizationServers: [] }, /authorizationServers must be an array .* at least one .*, got \[\]/],
    [{ authorizationServers: 'https://auth.example.com' }, /authorizationServers must be an array/],
    [
      { authorizationServers: ['auth.example.com'] },
      /authorizationServers must be URLs of issuers, .*'auth.example.com'/,
    ],
    [{ authorizationServers: ['https://a.example', 7] }, /authorizationServers must be URLs of issuers, .* got 7/],
    [{ authorizationServers: [' https://a.example'] }, /without query, fragment or spaces/],
    [{ resource: 'example.com/mcp' }, /resource must be the endpoint's URL, absolute, .*got 'example.com\/mcp'/],
    [{ resource: 'https://example.com/mcp#x' }, /resource must be/],
    [{ resource: 'https://example.com/mcp?x' }, /resource must be/],
    [{ resource: 'https://example.com/mcp', paths: ['/mcp'] }, /leave paths out/],
    [{ paths: '/mcp' }, /paths must be an array of full paths, each beginning with "\/", got '\/mcp'/],
    [{ paths: ['mcp'] }, /paths must be an array/],
    [{ paths: ['/mcp?x'] }, /paths must be an array/],
    [{ scopes: 'read write' }, /scopes must be an array of scopes/],
    [{ scopes: ['offline_access'] }, /refresh tokens/],
    [{ metadata: { resource: 'https://a.example' } }, /metadata has 'resource': use the option resource/],
    [{ metadata: { scopes_supported: [] } }, /metadata has 'scopes_supported': use the option scopes/],
    [{ metadata: { authorization_servers: [] } }, /use the option authorizationServers/],
    [{ metadata: { large: 1n } }, /BigInt/],
  ])('throws a TypeError at the call: %p', (options, message) => {
    const all = { authorizationServers, ...options } as ProtectedResourceMetadataOptions;
    expect(() => protectedResourceMetadata(all)).toThrow(TypeError);
    expect(() => protectedResourceMetadata(all)).toThrow(message);
  });

  it('takes undefined for absent', () => {
    const absent = { resource: undefined, paths: undefined, scopes: undefined, metadata: undefined };
    const middleware = protectedResourceMetadata({ authorizationServers, ...absent });
    expect(middleware.name).toBe('protectedResourceMetadataMiddleware');
  });
});
