/** Resources: lists, templates, what reading gives, and how what is not there is answered. */
import { McpError } from 'express-mcp';
import type { McpServer } from 'express-mcp';
import { connect, eras } from '../support/eras';
import type { EraClient } from '../support/eras';
import { join } from '../support/memory';
import { createServer, serve } from '../support/serve';
import type { Served } from '../support/serve';

const bytes = Uint8Array.from([0, 255, 128, 10]);
let served: Served;
let rows = ['1', '2'];

function registerAll(server: McpServer): void {
  server.registerResource(
    'readme',
    'file:///readme.txt',
    { title: 'Read me', description: 'First', mimeType: 'text/plain', size: 8 },
    (uri) => `Read ${uri}`,
  );
  server.registerResource('bare', 'test://bare', {}, () => '');
  server.registerResource('logo', 'test://logo', { mimeType: 'image/png' }, () => bytes);
  server.registerResource('buffer', 'test://buffer', {}, () => Buffer.from('é'));
  server.registerResource('slice', 'test://slice', {}, () => new Uint8Array(bytes.buffer, 1, 2));
  server.registerResource('folder', 'test://folder', {}, (uri) => [
    { uri: `${uri}/a`, text: 'a' },
    { uri: `${uri}/b`, blob: 'AA==', mimeType: 'image/png' },
  ]);
  server.registerResource('full', 'test://full', {}, (uri) => ({
    contents: [{ uri, text: 'x' }],
    _meta: { 'a.b/c': 1 },
  }));
  server.registerResource('none', 'test://none', {}, () => []);
  server.registerResource('café', 'test://literal/caf%C3%A9', {}, () => 'literal');
  const say = (uri: string, variables: Record<string, string>) => JSON.stringify({ uri, ...variables });
  server.registerResource('item', 'item://{id}', { mimeType: 'application/json' }, say);
  server.registerResource('dotted', 'w://a.b/{c}', {}, say);
  server.registerResource('find', 's://x/find?q={q}', {}, say);
  server.registerResource('accent', 'caf://é/{x}', {}, say);
  server.registerResource(
    'row',
    'row://{id}',
    { list: () => rows.map((id) => ({ uri: `row://${id}`, name: `Row ${id}`, mimeType: 'text/plain' })) },
    (_uri, { id }) => {
      if (!rows.includes(id!)) throw new McpError(-32002, 'No such row');
      return `Row ${id}`;
    },
  );
  server.registerResource('row 2', 'row://2', { description: 'Registered by itself' }, () => 'own');
  const broken = { text: 5 } as never;
  server.registerResource('broken', 'test://broken', {}, () => broken);
  server.registerResource('broken-entry', 'test://broken-entry', {}, () => [broken]);
}

beforeAll(async () => {
  served = await serve(registerAll);
});
afterAll(() => served.close());
beforeEach(() => served.errors.splice(0));

describe.each(eras)('%s era', (era) => {
  let client: EraClient;
  beforeAll(async () => {
    client = await connect(era, served);
  });
  const read = async (uri: string) => client.request('resources/read', { uri });
  const contents = async (uri: string) => (await read(uri)).response?.result?.contents;
  const notFound = era === 'legacy' ? -32002 : -32602;

  describe('reading', () => {
    it.each<[string, unknown]>([
      ['file:///readme.txt', { uri: 'file:///readme.txt', mimeType: 'text/plain', text: 'Read file:///readme.txt' }],
      ['test://bare', { uri: 'test://bare', text: '' }],
      ['test://logo', { uri: 'test://logo', mimeType: 'image/png', blob: 'AP+ACg==' }],
      ['test://buffer', { uri: 'test://buffer', blob: 'w6k=' }],
      ['test://slice', { uri: 'test://slice', blob: '/4A=' }],
    ])('%s gives text or bytes under its uri and type', async (uri, expected) => {
      expect(await contents(uri)).toEqual([expected]);
    });

    it('may give several contents, or a result as the author wrote it', async () => {
      expect(await contents('test://folder')).toEqual([
        { uri: 'test://folder/a', text: 'a' },
        { uri: 'test://folder/b', blob: 'AA==', mimeType: 'image/png' },
      ]);
      const { response } = await read('test://full');
      expect(response?.result).toMatchObject({ contents: [{ text: 'x' }], _meta: { 'a.b/c': 1 } });
    });

    it('may give nothing, where there is a resource without contents', async () => {
      expect(await contents('test://none')).toEqual([]);
    });

    it.each(['test://broken', 'test://broken-entry'])(
      'what no client could read is a fault of the server: %s',
      async (uri) => {
        expect((await read(uri)).response?.error).toEqual({ code: -32603, message: 'Internal error' });
        expect(served.errors).toEqual([
          expect.objectContaining({ message: expect.stringMatching(/^resource "broken(-entry)?" returned none of/) }),
        ]);
      },
    );
  });

  describe('what is not there', () => {
    // https://modelcontextprotocol.io/specification/2025-11-25/server/resources#error-handling: SHOULD be -32002
    // https://modelcontextprotocol.io/specification/2026-07-28/server/resources#error-handling: MUST be -32602, and
    // never an empty list of contents
    it.each(['test://nope', 'file:///readme.txt/', 'FILE:///readme.txt', 'no uri at all', 'row://', 'w://aXb/p'])(
      'MUST be an error of its era with the uri: %s',
      async (uri) => {
        const reply = await read(uri);
        expect(reply.status).toBe(200);
        expect(reply.response?.error).toMatchObject({ code: notFound, data: { uri } });
        expect(served.errors).toEqual([]);
      },
    );

    it('may be found out by the handler', async () => {
      expect((await read('row://7')).response?.error).toEqual({ code: notFound, message: 'No such row' });
      expect(await contents('row://1')).toEqual([{ uri: 'row://1', text: 'Row 1' }]);
    });

    it.each([undefined, null, 5, '', {}, ['test://bare'], true])('a uri of %j is -32602', async (uri) => {
      const headers = { 'Mcp-Name': typeof uri === 'string' ? uri : undefined };
      const reply = await client.request('resources/read', { uri }, { headers });
      expect(reply.response?.error?.code).toBe(-32602);
    });
  });

  describe('a template', () => {
    it.each([
      ['item://7', { id: '7' }],
      ['item://a%20b', { id: 'a b' }],
      ['item://%2520', { id: '%20' }],
      ['item://caf%C3%A9', { id: 'café' }],
      ['item://café', { id: 'café' }],
      ['item://a+b', { id: 'a+b' }],
      ['item://%2Fetc%2Fpasswd', { id: '/etc/passwd' }],
      ['s://x/find?q=abc', { q: 'abc' }],
      ['w://a.b/p', { c: 'p' }],
      ['caf://é/y', { x: 'y' }],
      ['caf://%C3%A9/y', { x: 'y' }],
    ])('gives its variables decoded once: %s', async (uri, variables) => {
      const [content] = (await contents(uri)) as { text: string }[];
      expect(JSON.parse(content!.text)).toEqual({ uri, ...variables });
    });

    it.each(['item://%E0%A4', 'item://%', 'item://%zz', 'item://a%', 'item://%FF'])(
      'answers -32602 to a malformed escape: %s',
      async (uri) => {
        const reply = await read(uri);
        expect(reply.status).toBe(200);
        expect(reply.response?.error).toMatchObject({ code: -32602, data: { uri } });
        expect(served.errors).toEqual([]);
      },
    );

    it.each(['item://a/b', 'item://a?b', 'w://aXb/p', 's://x/findq=abc', 's://x/fin?q=abc', 's://x/find?q=a&q=b'])(
      'does not match what it could not have made: %s',
      async (uri) => {
        expect((await read(uri)).response?.error?.code).toBe(notFound);
      },
    );

    it('is listed by its own method', async () => {
      const { response } = await client.request('resources/templates/list');
      expect(response?.result?.resourceTemplates).toEqual([
        { name: 'item', uriTemplate: 'item://{id}', mimeType: 'application/json' },
        { name: 'dotted', uriTemplate: 'w://a.b/{c}' },
        { name: 'find', uriTemplate: 's://x/find?q={q}' },
        { name: 'accent', uriTemplate: 'caf://é/{x}' },
        { name: 'row', uriTemplate: 'row://{id}' },
      ]);
    });
  });

  describe('the list', () => {
    it('shows what was registered, in order, then what templates list; each uri once', async () => {
      const { response } = await client.request('resources/list');
      const resources = response?.result?.resources as { uri: string }[];
      expect(resources[0]).toEqual({
        uri: 'file:///readme.txt',
        name: 'readme',
        title: 'Read me',
        description: 'First',
        mimeType: 'text/plain',
        size: 8,
      });
      expect(resources.slice(-2)).toEqual([
        expect.objectContaining({ uri: 'test://broken-entry' }),
        { uri: 'row://1', name: 'Row 1', mimeType: 'text/plain' },
      ]);
      expect(resources.filter(({ uri }) => uri === 'row://2')).toEqual([
        { uri: 'row://2', name: 'row 2', description: 'Registered by itself' },
      ]);
    });

    it('follows what a template lists now', async () => {
      rows = ['1', '2', '3'];
      const { response } = await client.request('resources/list');
      expect(response?.result?.resources).toContainEqual(expect.objectContaining({ uri: 'row://3' }));
      rows = ['1', '2'];
    });
  });
});

describe('what a template lists', () => {
  it('may be the author’s own objects, changed between lists', async () => {
    const own = { uri: 'x://1', name: 'One', description: 'old' };
    const client = await join(
      createServer((server) => server.registerResource('x', 'x://{id}', { list: async () => [own, own] }, () => '')),
    );
    const listed = async () => (await client.request('resources/list')).result?.resources;
    expect(await listed()).toEqual([{ uri: 'x://1', name: 'One', description: 'old' }]);
    own.description = 'new';
    expect(await listed()).toEqual([{ uri: 'x://1', name: 'One', description: 'new' }]);
  });

  it('is told who asks', async () => {
    const server = createServer((s) =>
      s.registerResource(
        'x',
        'x://{id}',
        { list: ({ principal }) => [{ uri: `x://${principal}`, name: 'mine' }] },
        () => '',
      ),
    );
    for (const principal of ['alice', 'bob']) {
      const client = await join(server, { connection: { principal } });
      const { result } = await client.request('resources/list');
      expect(result?.resources).toEqual([{ uri: `x://${principal}`, name: 'mine' }]);
    }
  });

  it('and fails with its list, as a fault of the server', async () => {
    const errors: unknown[] = [];
    const failure = new Error('database down');
    const list = () => Promise.reject(failure);
    const client = await join(createServer((s) => s.registerResource('x', 'x://{id}', { list }, () => ''), { errors }));
    expect((await client.request('resources/list')).error).toEqual({ code: -32603, message: 'Internal error' });
    expect(errors).toEqual([failure]);
  });
});

describe('a hostile uri', () => {
  const setup = (server: McpServer): void => {
    server.registerResource('users', 'users{/id*}', {}, () => 'user');
    server.registerResource('search', 'search{?tags*}', {}, () => 'found');
    server.registerResource('pair', 'pair://{a}-{b}-{c}!', {}, () => 'pair');
  };
  const uris = [
    `users/${','.repeat(50_000)}/!`,
    `search?tags=${','.repeat(50_000)}#!`,
    `pair://${'-'.repeat(50_000)}`,
    `users/${'%2C'.repeat(20_000)}/!`,
  ];

  it.each(eras)('is answered in no time, and nobody waits for it, over HTTP: %s era', async (era) => {
    // A modern client repeats the uri in a header.
    const target = await serve(setup, { http: { maxHeaderSize: 1_000_000 } });
    try {
      const client = await connect(era, target);
      for (const uri of uris) {
        const [reply, list] = await Promise.all([
          client.request('resources/read', { uri }),
          client.request('resources/list'),
        ]);
        expect(reply.response?.error?.code).toBe(era === 'legacy' ? -32002 : -32602);
        expect(list.status).toBe(200);
      }
    } finally {
      await target.close();
    }
  });

  it('costs less than 100 ms of the processor', async () => {
    const client = await join(createServer(setup));
    await client.request('resources/read', { uri: 'pair://1-2-3!' });
    const before = process.cpuUsage();
    for (const uri of uris) expect((await client.request('resources/read', { uri })).error?.code).toBe(-32002);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000 / uris.length).toBeLessThan(100);
  });
});
