/** What comes in as lines: however it is cut, however hostile it is. And what goes out. */
import { McpServer } from 'express-mcp';
import { createLineReader } from '../../lib/stdio/line-reader';
import { initialize, serveLines } from '../support/lines';
import { textOfMessage } from '../support/memory';

function createServer(): McpServer {
  const server = new McpServer({ name: 'lines', version: '1.0.0' });
  server.registerTool('echo', {}, (args) => String(args.text));
  server.registerTool('circle', {}, () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    return { content: [], structuredContent: circle };
  });
  return server;
}

/** What a reader makes of some chunks: values, and codes of refusals. */
function read(chunks: (string | Buffer)[], maxLineBytes = 1_000): unknown[] {
  const seen: unknown[] = [];
  const feed = createLineReader({
    maxLineBytes,
    onMessage: (message) => void seen.push(message),
    onRefuse: ({ code }) => void seen.push(code),
  });
  for (const chunk of chunks) feed(Buffer.from(chunk as string));
  return seen;
}

describe('a line', () => {
  it('is read whole, however it is cut', () => {
    const bytes = Buffer.from('{"text":"zwölf €uro 🎈"}\n[1,2]\n"last"\n');
    const whole = [{ text: 'zwölf €uro 🎈' }, [1, 2], 'last'];
    for (let size = 1; size <= bytes.length; size += 1) {
      const chunks: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
      expect(read(chunks)).toEqual(whole);
    }
  });

  it('may end with a carriage return, and be blank', () => {
    expect(read(['1\r\n\r\n\n  \t\n2\n'])).toEqual([1, 2]);
  });

  it('is not read before its end', () => {
    expect(read(['1\n{"id":1}'])).toEqual([1]);
  });

  it('may be as long as the limit, and one byte more is refused once', () => {
    expect(read(['"12345678"\n"123456789"\n3\n'], 10)).toEqual(['12345678', -32600, 3]);
    const cut = [...'"123456789012345678901234567890"\n3\n'];
    expect(read(cut, 10)).toEqual([-32600, 3]);
  });

  it.each([
    ['an overlong encoding', [0x22, 0xc0, 0xaf, 0x22]],
    ['a lone surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ['a cut sequence', [0x22, 0xe2, 0x82, 0x22]],
    ['latin1', [0x22, 0xe9, 0x22]],
    ['UTF-16', [...Buffer.from('"a"', 'utf16le'), 0x00]],
  ])('MUST be UTF-8: %s is a parse error', (_what, bytes) => {
    // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports
    expect(read([Buffer.from([...bytes, 0x0a]), '1\n'])).toEqual([-32700, 1]);
  });

  it.each(['{', '{"id":1,}', "{'id':1}", 'undefined', 'NaN', '{} {}', '\u00001', '{"a":1}x'])(
    'must be JSON: %j is a parse error',
    (line) => expect(read([`${line}\n1\n`])).toEqual([-32700, 1]),
  );
});

describe('a hostile line', () => {
  const refused = async (line: string | Buffer) => {
    const client = serveLines(createServer(), { maxLineBytes: 100_000 });
    client.write(line);
    client.write('\n');
    const { id, error } = await client.next();
    // It harms nobody: the next one is served.
    const call = await client.request('tools/call', { name: 'echo', arguments: { text: 'still here' } });
    expect(textOfMessage(call)).toBe('still here');
    await client.serving.close();
    expect(client.errors).toEqual([]);
    return [id, error?.code];
  };

  it.each([
    ['no JSON', 'hello', [undefined, -32700]],
    ['an HTTP request', 'GET / HTTP/1.1', [undefined, -32700]],
    ['no object', '42', [undefined, -32600]],
    ['null', 'null', [undefined, -32600]],
    ['an empty batch', '[]', [undefined, -32600]],
    ['no version', '{"id":1,"method":"ping"}', [1, -32600]],
    ['no method', '{"jsonrpc":"2.0","id":1}', [1, -32600]],
    ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"ping"}', [undefined, -32600]],
    ['an id that is null', '{"jsonrpc":"2.0","id":null,"method":"ping"}', [undefined, -32600]],
    ['params that are a list', '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', [1, -32602]],
    ['a response that is none', '{"jsonrpc":"2.0","id":"x","result":1}', [undefined, -32600]],
  ])('with %s is answered with an error', async (_what, line, answer) => {
    expect(await refused(line)).toEqual(answer);
  });

  it('nested too deeply is answered with an error', async () => {
    const deep = `${'['.repeat(40_000)}${']'.repeat(40_000)}`;
    expect(await refused(`{"jsonrpc":"2.0","id":9,"method":"ping","params":{"a":${deep}}}`)).toEqual([9, -32600]);
  });

  it('without end is answered once, and held no longer', async () => {
    expect(await refused(Buffer.alloc(1_000_000, 'a'))).toEqual([undefined, -32600]);
  });
});

describe('a response that nobody waits for', () => {
  it('is ignored', async () => {
    const client = serveLines(createServer(), { revision: '2025-11-25' });
    client.send({ jsonrpc: '2.0', id: 'guess', result: {} });
    await initialize(client);
    client.send({ jsonrpc: '2.0', id: 'guess', result: {} });
    client.send({ jsonrpc: '2.0', id: 'guess', error: { code: 1, message: 'x' } });
    await client.request('ping');
    expect(client.received).toHaveLength(2);
    await client.serving.close();
  });
});

describe('what goes out', () => {
  // https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
  it('MUST NOT contain embedded newlines, of any kind that line splitters know', async () => {
    const client = serveLines(createServer());
    let text = '';
    client.stdout.on('data', (part: string) => (text += part));
    const odd = 'a\nb\rc\r\nd\u2028e\u2029f\u0085g\u{1F388}';
    const call = await client.request('tools/call', { name: 'echo', arguments: { text: odd } });
    expect(textOfMessage(call)).toBe(odd);
    expect(text.trimEnd().split(/[\n\r\u2028\u2029\u0085]/)).toHaveLength(1);
    await client.serving.close();
  });

  it('is an error where an author returns what has no JSON', async () => {
    const client = serveLines(createServer());
    const { error } = await client.request('tools/call', { name: 'circle', arguments: {} });
    expect(error?.code).toBe(-32603);
    await client.serving.close();
  });
});
