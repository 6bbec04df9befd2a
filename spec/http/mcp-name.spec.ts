/** `Mcp-Method` and `Mcp-Name`: how a value may be written, and what is another value. */
import type { McpServer } from 'express-mcp';
import { modernRevision } from '../support/schema';
import { serve } from '../support/serve';
import type { Served } from '../support/serve';
import { modern, modernRequest, rawHttp } from '../support/wire';
import type { ModernClient, Reply } from '../support/wire';

const cjk = 'file:///天気.txt';
const lookalike = '=?base64?eA==?=';
const ran: string[] = [];

function registerAll(server: McpServer): void {
  const run = (name: string) => () => {
    ran.push(name);
    return name;
  };
  server.registerTool('echo', {}, run('echo'));
  server.registerResource('weather', 'file:///{name}', {}, (uri) => run(uri)());
  server.registerPrompt('x', {}, run('x'));
  server.registerPrompt(lookalike, {}, run('lookalike'));
  server.registerPrompt(' padded ', {}, run('padded'));
  server.registerPrompt('two\nlines', {}, run('lines'));
  server.registerPrompt('naïve', {}, run('naïve'));
  server.registerPrompt('=?base64?=', {}, run('marker'));
}

let served: Served;
let client: ModernClient;
beforeAll(async () => {
  served = await serve(registerAll);
  client = modern(served);
});
afterAll(() => served.close());
beforeEach(() => ran.splice(0));

const encoded = (value: string | Buffer) => `=?base64?${Buffer.from(value).toString('base64')}?=`;
const read = (uri: string, name: string) =>
  client.request('resources/read', { uri }, { id: 'abc', headers: { 'Mcp-Name': name } });
const get = (name: string, header: string) =>
  client.request('prompts/get', { name }, { id: 'abc', headers: { 'Mcp-Name': header } });

function expectRefused(reply: Reply): void {
  expect(reply.status).toBe(400);
  expect(reply.json).toMatchObject({ id: 'abc', error: { code: -32020 } });
  expect(ran).toEqual([]);
}

// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#value-encoding
describe('a name that a header cannot carry', () => {
  it('MUST be decoded before it is compared', async () => {
    expect((await read(cjk, encoded(cjk))).status).toBe(200);
    for (const name of [' padded ', 'two\nlines', 'naïve', '=?base64?=']) {
      expect((await get(name, encoded(name))).status).toBe(200);
    }
    expect(ran).toEqual([cjk, 'padded', 'lines', 'naïve', 'marker']);
  });

  it.each<[string, string]>([
    ['its raw UTF-8 bytes', Buffer.from(cjk).toString('latin1')],
    ['its percent-encoded form', 'file:///%E5%A4%A9%E6%B0%97.txt'],
    ['a marker in another case', encoded(cjk).replace('base64', 'BASE64')],
    ['a marker in mixed case', encoded(cjk).replace('base64', 'Base64')],
    ['Base64 without its end', encoded(cjk).slice(0, -2)],
    ['Base64 with too much padding', encoded(cjk).replace(/\?=$/, '=?=')],
    ['Base64 with blanks', encoded(cjk).replace('Zmls', 'Zm ls')],
    ['Base64 of the URL kind', encoded('file:///\u00ff?>').replaceAll('/', '_')],
    ['what is no Base64', '=?base64?!!!!?='],
    ['Base64 of nothing', '=?base64??='],
    ['Base64 of what is no UTF-8', encoded(Buffer.from([0xff, 0xfe, 0xfd]))],
    ['Base64 of UTF-16', encoded(Buffer.from(cjk, 'utf16le'))],
    ['Base64 of Base64', encoded(encoded(cjk))],
    ['the encoded form of another', encoded('file:///天候.txt')],
  ])('MUST be refused with 400 and -32020 when it is written as %s', async (_what, header) => {
    expectRefused(await read(cjk, header));
  });
});

describe('the padding of Base64', () => {
  it('belongs to it', async () => {
    const uri = 'file:///天';
    expect(encoded(uri)).toMatch(/=\?=$/);
    expectRefused(await read(uri, encoded(uri).replace('=?=', '?=')));
    expect((await read(uri, encoded(uri))).status).toBe(200);
  });
});

describe('a name that a header can carry', () => {
  it('may be encoded all the same', async () => {
    const headers = { 'Mcp-Name': encoded('echo') };
    expect((await client.callTool('echo', {}, { headers })).status).toBe(200);
    expect((await get('x', encoded('x'))).status).toBe(200);
  });

  it('that looks encoded MUST be encoded', async () => {
    expect((await get(lookalike, encoded(lookalike))).status).toBe(200);
    expect(ran.splice(0)).toEqual(['lookalike']);
    // What it looks like is another name.
    expectRefused(await get(lookalike, lookalike));
  });
});

// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#case-sensitivity
describe('case', () => {
  const { body } = modernRequest('tools/call', { name: 'echo', arguments: {} }, { id: 'abc' });

  it.each([(name: string) => name.toLowerCase(), (name: string) => name.toUpperCase(), (name: string) => name])(
    'of the names of headers MUST NOT matter',
    async (write) => {
      const lines = {
        Host: `127.0.0.1:${served.port}`,
        'Content-Type': 'application/json',
        Accept: 'application/json',
        Connection: 'close',
        'MCP-Protocol-Version': modernRevision,
        'Mcp-Method': 'tools/call',
        'Mcp-Name': 'echo',
      };
      const answer = await rawHttp(served.port, requestOf(lines, write));
      expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 /);
      expect(ran).toEqual(['echo']);
    },
  );

  it.each<[string, string]>([
    ['Mcp-Method', 'Tools/Call'],
    ['Mcp-Method', 'tools/Call'],
    ['Mcp-Name', 'ECHO'],
    ['Mcp-Name', 'Echo'],
  ])('of their values does: %s: %s', async (header, value) => {
    expectRefused(await client.callTool('echo', {}, { id: 'abc', headers: { [header]: value } }));
  });

  it('blanks around a value are no part of it', async () => {
    const lines = {
      Host: `127.0.0.1:${served.port}`,
      'Content-Type': 'application/json',
      Accept: 'application/json',
      Connection: 'close',
      'MCP-Protocol-Version': `  ${modernRevision} `,
      'Mcp-Method': '\ttools/call\t',
      'Mcp-Name': '   echo  \t',
    };
    const answer = await rawHttp(served.port, requestOf(lines));
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 /);
  });

  function requestOf(lines: Record<string, string>, write = (name: string) => name): string {
    const text = JSON.stringify(body);
    const all = { ...lines, 'Content-Length': String(Buffer.byteLength(text)) };
    const head = Object.entries(all).map(([name, value]) => `${write(name)}: ${value}`);
    return ['POST / HTTP/1.1', ...head, '', text].join('\r\n');
  }
});
