/** Which pages may call, under which names, and what browsers are told. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createConnection } from 'node:net';
import connect from 'connect';
import express from 'express';
import { createOriginCheck, validateOrigin } from '../../lib/http/origin';
import type { OriginOptions } from '../../lib/http/origin';
import { send } from '../support/exchange';
import type { Exchange, Headers, Reply } from '../support/exchange';
import { closeListeners, listen } from '../support/listen';

const app = 'https://app.example';
const evil = 'https://evil.example';

afterEach(closeListeners);

interface Arrival extends OriginOptions {
  /** Where the request seems to have arrived, instead of on loopback. */
  localAddress?: string;
  before?(req: IncomingMessage, res: ServerResponse): void;
}

/** A server that answers 200 to what passes the check. */
function serve({ localAddress, before, ...options }: Arrival = {}): Promise<string> {
  const check = createOriginCheck(options);
  return listen((req, res) => {
    if (localAddress !== undefined) Object.defineProperty(req.socket, 'localAddress', { value: localAddress });
    before?.(req, res);
    if (check(req, res)) res.end('passed');
  });
}

function ask(url: string, headers: Headers, method: Exchange['method'] = 'POST'): Promise<Reply> {
  return send(url, { method, headers, validate: false });
}

async function statusOf(arrival: Arrival, headers: Headers): Promise<number> {
  return (await ask(await serve(arrival), headers)).status;
}

function preflight(url: string, headers: Headers): Promise<Reply> {
  return ask(url, { 'Access-Control-Request-Method': 'POST', ...headers }, 'OPTIONS');
}

describe('Origin', () => {
  it('may be absent', async () => {
    const reply = await ask(await serve(), {});
    expect(reply.status).toBe(200);
    expect(reply.headers).not.toHaveProperty('access-control-allow-origin');
  });

  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning
  it.each(['POST', 'GET', 'DELETE', 'OPTIONS', 'PUT'] as const)(
    'MUST be answered with 403 when it is not allowed: %s',
    async (method) => {
      const reply = await ask(await serve(), { Origin: evil }, method);
      expect(reply.status).toBe(403);
      expect(reply.json).toEqual({
        jsonrpc: '2.0',
        error: { code: -32600, message: expect.stringMatching(/`origins`/) },
      });
      expect(reply.headers).not.toHaveProperty('access-control-allow-origin');
    },
  );

  it.each([
    'null',
    '',
    'not-a-url',
    'http://',
    'http://localhost:5173@evil.example',
    'http://localhost@evil.example:80',
    'http://evil.example#@localhost',
    'http://localhost/',
    'http://localhost/path',
    'http://localhost?x',
    'http://localhost\\.evil.example',
    'http://localhost:',
    'http://localhost:99999',
    'http://localhost, http://localhost',
    'http://loc%61lhost',
    'http://[::1',
    '//localhost',
    'localhost:5173',
    'file://',
    'ftp://localhost',
    'http://localhost.evil.example',
    'http://127.0.0.1.evil.example',
    `http://${'localhost.'.repeat(1_000)}example`,
  ])('is refused, without an exception: %p', async (Origin) => {
    expect(await statusOf({}, { Origin })).toBe(403);
  });

  it('is refused when it comes twice', async () => {
    expect(await statusOf({ origins: [app] }, { Origin: [app, app] })).toBe(403);
  });

  describe.each(['127.0.0.1:3000', 'localhost', '[::1]:3000'])('of loopback, with Host %s', (Host) => {
    it.each([
      'http://localhost',
      'http://localhost:5173',
      'https://127.0.0.1:8443',
      'http://[::1]:3000',
      'HTTP://LOCALHOST:1',
    ])('passes on loopback: %s', async (Origin) => {
      expect(await statusOf({}, { Origin, Host })).toBe(200);
    });

    it('is refused where the request did not arrive on loopback', async () => {
      const arrival = { localAddress: '192.0.2.1' };
      expect(await statusOf(arrival, { Origin: 'http://localhost', Host })).toBe(403);
    });
  });

  it('of loopback is refused on loopback under another Host', async () => {
    const allowedHosts = ['mcp.example'];
    expect(await statusOf({ allowedHosts }, { Origin: 'http://localhost', Host: 'mcp.example' })).toBe(403);
  });

  it('of loopback passes beside origins of other hosts', async () => {
    expect(await statusOf({ origins: [app] }, { Origin: 'http://localhost:5173' })).toBe(200);
  });

  it.each([
    ['http://127.0.0.1.evil.example', 403],
    ['http://localhost:51730', 403],
    ['http://localhost:5173.evil.example', 403],
    ['https://localhost:5173', 403],
    ['http://localhost', 403],
    ['http://localhost:5173', 200],
    ['HTTP://LOCALHOST:5173', 200],
    ['http://127.0.0.1:80', 200],
  ])('of loopback is compared whole once loopback origins are named: %s', async (Origin, status) => {
    expect(await statusOf({ origins: ['http://localhost:5173', 'http://127.0.0.1'] }, { Origin })).toBe(status);
  });

  it.each([
    ['https://app.example', 'https://app.example'],
    ['https://app.example', 'https://app.example:443'],
    ['https://app.example:443', 'https://app.example'],
    ['HTTPS://App.Example', 'https://app.example'],
    ['http://app.example:80', 'http://app.example'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    ['chrome-extension://abcdefgh', 'chrome-extension://abcdefgh'],
  ])('allowed as %s passes as %s, wherever the request arrived', async (origin, Origin) => {
    for (const localAddress of [undefined, '192.0.2.1', '::1']) {
      expect(await statusOf({ origins: [origin], localAddress }, { Origin })).toBe(200);
    }
  });

  it.each([
    'http://app.example',
    'https://app.example:8443',
    'https://app.example.evil.example',
    'https://xapp.example',
  ])('that only resembles an allowed one is refused: %s', async (Origin) => {
    expect(await statusOf({ origins: [app], localAddress: '192.0.2.1' }, { Origin })).toBe(403);
  });

  describe('of this server itself', () => {
    it.each([
      ['mcp.example', 'https://mcp.example'],
      ['mcp.example', 'http://mcp.example'],
      ['mcp.example:443', 'https://mcp.example'],
      ['MCP.example:8443', 'https://mcp.example:8443'],
    ])('passes when its Host, %s, is allowed: %s', async (Host, Origin) => {
      for (const localAddress of [undefined, '192.0.2.1']) {
        expect(await statusOf({ allowedHosts: ['mcp.example'], localAddress }, { Host, Origin })).toBe(200);
      }
    });

    it('is refused when its Host is not named: a rebound name is same-origin too', async () => {
      const headers = { Host: 'evil.example', Origin: 'http://evil.example' };
      expect(await statusOf({ localAddress: '192.0.2.1' }, headers)).toBe(403);
    });

    it.each(['https://mcp.example:8443', 'https://other.example', 'ftp://mcp.example'])('is not %s', async (Origin) => {
      const allowedHosts = ['mcp.example', 'other.example'];
      expect(await statusOf({ allowedHosts }, { Host: 'mcp.example', Origin })).toBe(403);
    });

    it('is not its http namesake on a TLS socket', async () => {
      const before = (req: IncomingMessage) => Object.assign(req.socket, { encrypted: true });
      const arrival = { allowedHosts: ['mcp.example'], before };
      expect(await statusOf(arrival, { Host: 'mcp.example', Origin: 'http://mcp.example' })).toBe(403);
      expect(await statusOf(arrival, { Host: 'mcp.example', Origin: 'https://mcp.example' })).toBe(200);
    });
  });
});

describe('Host', () => {
  it.each(['localhost', 'localhost:3000', 'LOCALHOST:3000', 'localhost.', '127.0.0.1:3000', '[::1]:3000', '[::1]'])(
    'of loopback passes on loopback: %s',
    async (Host) => {
      for (const localAddress of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) {
        expect(await statusOf({ localAddress }, { Host })).toBe(200);
      }
    },
  );

  it.each(['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '[::1', 'a:b:c', '0.0.0.0:3000'])(
    'is refused on loopback, without an exception: %p',
    async (Host) => {
      const reply = await ask(await serve(), { Host });
      expect(reply.status).toBe(403);
      expect(reply.json?.error).toEqual({ code: -32600, message: expect.stringMatching(/`allowedHosts`/) });
    },
  );

  it.each(['POST / HTTP/1.1\r\nHost:\r\n', 'POST / HTTP/1.0\r\n'])(
    'is refused on loopback when there is none: %j',
    async (head) => {
      const { port } = new URL(await serve());
      const socket = createConnection(Number(port), '127.0.0.1', () => socket.end(`${head}Connection: close\r\n\r\n`));
      const [answer] = (await once(socket, 'data')) as [Buffer];
      expect(answer.toString()).toMatch(/^HTTP\/1.1 403 /);
      socket.destroy();
    },
  );

  it('is judged anew for each request', async () => {
    const url = await serve();
    for (const [Host, status] of [
      ['localhost', 200],
      ['evil.example', 403],
      ['evil.example', 403],
      ['localhost', 200],
    ] as const) {
      expect((await ask(url, { Host })).status).toBe(status);
    }
  });

  it('counts alone: no header of a proxy replaces it', async () => {
    const headers = { Host: 'evil.example', 'X-Forwarded-Host': 'localhost', Forwarded: 'host=localhost' };
    expect(await statusOf({}, headers)).toBe(403);
    expect(await statusOf({}, { ...headers, Host: 'localhost', 'X-Forwarded-Host': 'evil.example' })).toBe(200);
  });

  it('is refused on loopback although the origin is allowed', async () => {
    expect(await statusOf({ origins: [app] }, { Host: 'evil.example', Origin: app })).toBe(403);
  });

  it('of loopback does not make up for the origin', async () => {
    expect(await statusOf({}, { Host: 'localhost', Origin: evil })).toBe(403);
  });

  it('is free where the request did not arrive on loopback and no host is named', async () => {
    for (const localAddress of ['192.0.2.1', '::', '2001:db8::1']) {
      expect(await statusOf({ localAddress }, { Host: 'anything.example' })).toBe(200);
    }
  });

  it.each([
    ['mcp.example', 'mcp.example', 200],
    ['mcp.example', 'MCP.EXAMPLE.:8443', 200],
    ['mcp.example', 'sub.mcp.example', 403],
    ['mcp.example', 'mcp.example.evil.example', 403],
    ['mcp.example:8443', 'mcp.example:8443', 200],
    ['mcp.example:8443', 'mcp.example', 403],
    ['mcp.example:8443', 'mcp.example:84430', 403],
    ['mcp.example:443', 'mcp.example', 200],
    ['mcp.example:443', 'mcp.example:80', 403],
    ['[2001:db8::1]', '[2001:DB8::1]:3000', 200],
  ])('allowed as %s and sent as %s gets %i, wherever the request arrived', async (allowed, Host, status) => {
    for (const localAddress of [undefined, '192.0.2.1']) {
      expect(await statusOf({ allowedHosts: [allowed], localAddress }, { Host })).toBe(status);
    }
  });

  it('of loopback stays good on loopback beside named hosts, and there only', async () => {
    const allowedHosts = ['mcp.example'];
    expect(await statusOf({ allowedHosts }, { Host: 'localhost' })).toBe(200);
    expect(await statusOf({ allowedHosts, localAddress: '192.0.2.1' }, { Host: 'localhost' })).toBe(403);
  });

  it('is judged as on loopback when the client has hung up, and the address is gone', async () => {
    const check = createOriginCheck({});
    const judged = new Promise((resolve, reject) => {
      void listen((req, res) => {
        req.socket.once('close', () => resolve([req.socket.localAddress, check(req, res)]));
        req.socket.destroy();
      }).then((url) => ask(url, { Host: 'evil.example' }).catch(() => undefined), reject);
    });
    expect(await judged).toEqual([undefined, false]);
  });
});

describe('CORS headers', () => {
  it('let the page of an allowed origin read the answer', async () => {
    const { headers } = await ask(await serve({ origins: [app] }), { Origin: app });
    expect(headers['access-control-allow-origin']).toBe(app);
    expect(headers['access-control-expose-headers']).toBe('Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate');
    expect(headers.vary).toBe('Origin');
  });

  it.each([
    ['Accept-Encoding', 'Accept-Encoding, Origin'],
    [['Accept-Encoding', 'X-Origin'], 'Accept-Encoding, X-Origin, Origin'],
    ['origin, Accept', 'origin, Accept'],
    ['*', '*'],
  ])('add to a Vary of the host: %j', async (vary, expected) => {
    const before = (_req: IncomingMessage, res: ServerResponse) => res.setHeader('Vary', vary);
    const { headers } = await ask(await serve({ origins: [app], before }), { Origin: app });
    expect(headers.vary).toBe(expected);
  });

  it('add to what the host exposes', async () => {
    const before = (_req: IncomingMessage, res: ServerResponse) =>
      res.setHeader('Access-Control-Expose-Headers', 'X-Request-Id, mcp-session-id');
    const { headers } = await ask(await serve({ origins: [app], before }), { Origin: app });
    expect(headers['access-control-expose-headers']).toBe(
      'X-Request-Id, mcp-session-id, MCP-Protocol-Version, WWW-Authenticate',
    );
  });

  it('are taken from a refusal, whoever has set them', async () => {
    const before = (_req: IncomingMessage, res: ServerResponse) => res.setHeader('Access-Control-Allow-Origin', '*');
    const { status, headers } = await ask(await serve({ before }), { Origin: evil });
    expect(status).toBe(403);
    expect(headers).not.toHaveProperty('access-control-allow-origin');
  });
});

describe('preflight', () => {
  const asked = [
    ...['authorization', 'content-type', 'accept', 'mcp-session-id', 'mcp-protocol-version', 'last-event-id'],
    ...['mcp-method', 'mcp-name', 'traceparent', 'tracestate', 'mcp-param-region', 'Mcp-Param-a.b_c'],
  ];

  it('of an allowed origin names every method and every header that clients send', async () => {
    const url = await serve({ origins: [app] });
    const { status, headers, text } = await preflight(url, {
      Origin: app,
      'Access-Control-Request-Headers': asked.join(','),
    });
    expect([status, text]).toEqual([204, '']);
    expect(headers).toMatchObject({
      'access-control-allow-origin': app,
      'access-control-allow-methods': 'POST, GET, DELETE, OPTIONS',
      'access-control-max-age': '7200',
      vary: 'Origin',
    });
    expect(headers['access-control-allow-headers']?.split(', ')).toEqual(expect.arrayContaining(asked));
  });

  it('allows no header that was asked for beyond these', async () => {
    const url = await serve({ origins: [app] });
    const { headers } = await preflight(url, {
      Origin: app,
      'Access-Control-Request-Headers': 'x-evil, mcp-param-, mcp-param-a b, x-mcp-param-c, mcp-param-d;e, mcp-param-ok',
    });
    const allowed = headers['access-control-allow-headers']?.split(', ') ?? [];
    expect(allowed.filter((name) => !asked.includes(name))).toEqual(['mcp-param-ok']);
  });

  it('of another origin is refused like its POST', async () => {
    const url = await serve({ origins: [app] });
    const reply = await preflight(url, { Origin: evil });
    expect(reply.status).toBe(403);
    expect(Object.keys(reply.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    expect((await ask(url, { Origin: evil })).status).toBe(403);
  });

  it('is not what an OPTIONS without its two headers is', async () => {
    const url = await serve({ origins: [app] });
    expect((await ask(url, { Origin: app }, 'OPTIONS')).text).toBe('passed');
    expect((await preflight(url, {})).text).toBe('passed');
  });
});

describe('misuse is thrown at the call', () => {
  it.each([
    'app.example',
    'https://app.example/',
    'https://app.example/path',
    'https://user@app.example',
    'https://*.example',
    'https://',
    '*',
    'null',
    '',
    'https://a.example, https://b.example',
  ])('an origin like %p', (origin) => {
    expect(() => createOriginCheck({ origins: [app, origin] })).toThrow(TypeError);
    expect(() => validateOrigin({ origins: [origin] })).toThrow(`origins: ${JSON.stringify(origin)} is not an origin`);
  });

  it.each(['https://mcp.example', 'mcp.example/path', '*.example', '', 'mcp.example:x', 'bücher.example'])(
    'a host like %p',
    (host) => {
      expect(() => validateOrigin({ allowedHosts: [host] })).toThrow(TypeError);
      expect(() => validateOrigin({ allowedHosts: [host] })).toThrow(
        `allowedHosts: ${JSON.stringify(host)} is not a host`,
      );
    },
  );

  it.each(['origins', 'allowedHosts'])('%s that is no array of strings', (option) => {
    for (const value of ['localhost', 5, null, {}, [5], [null], new Set(['localhost'])]) {
      expect(() => validateOrigin({ [option]: value })).toThrow(
        new TypeError(`${option} must be an array of strings.`),
      );
    }
  });

  it('and undefined equals absent', () => {
    expect(() => validateOrigin({ origins: undefined, allowedHosts: undefined })).not.toThrow();
  });
});

describe('validateOrigin', () => {
  it('is a named middleware', () => {
    expect(validateOrigin().name).toBe('validateOriginMiddleware');
  });

  it('serves Express, Connect and plain http alike', async () => {
    const validate = validateOrigin({ origins: [app] });
    const answer = (_req: IncomingMessage, res: ServerResponse) => void res.end('passed');
    for (const handler of [
      express().use(validate, answer),
      connect().use(validate).use(answer),
      (req: IncomingMessage, res: ServerResponse) => validate(req, res, () => answer(req, res)),
      (req: IncomingMessage, res: ServerResponse) => {
        validate(req, res);
        if (!res.writableEnded) answer(req, res);
      },
    ]) {
      const url = await listen(handler);
      expect((await ask(url, { Origin: app })).text).toBe('passed');
      expect((await ask(url, { Origin: evil })).status).toBe(403);
      expect((await preflight(url, { Origin: app })).status).toBe(204);
    }
  });

  describe('in front of a check', () => {
    async function behind(first: OriginOptions, second: OriginOptions): Promise<string> {
      const validate = validateOrigin(first);
      const check = createOriginCheck(second);
      return listen((req, res) => validate(req, res, () => void (check(req, res) && res.end('passed'))));
    }

    it('that has no options is believed', async () => {
      const url = await behind({ origins: [app], allowedHosts: ['mcp.example'] }, {});
      const { text, headers } = await ask(url, { Origin: app, Host: 'mcp.example' });
      expect([text, headers.vary]).toEqual(['passed', 'Origin']);
      expect((await ask(url, { Host: 'mcp.example' })).text).toBe('passed');
      expect((await ask(url, { Origin: evil })).status).toBe(403);
    });

    it('that has its own is not', async () => {
      const url = await behind({ origins: [app, 'https://b.example'] }, { origins: ['https://b.example'] });
      expect((await ask(url, { Origin: app })).status).toBe(403);
      const { text, headers } = await ask(url, { Origin: 'https://b.example' });
      expect([text, headers.vary]).toEqual(['passed', 'Origin']);
    });
  });
});
