/** Bodies that are not JSON, or not UTF-8, or not a message. */
import { connect, eras } from '../support/eras';
import type { EraClient } from '../support/eras';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { initializeMessage, post } from '../support/wire';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.ran.splice(0));

const broken = [
  '{"jsonrpc":"2.0","method":"tools/list""',
  '',
  ' ',
  '{',
  '}',
  '{"a":1} {"b":2}',
  '{"a":1}x',
  "{'a':1}",
  '{"a":1,}',
  '"open',
  '"line\nbreak"',
  'NaN',
  'undefined',
  '[1,',
  '<html>',
  '{"jsonrpc":"2.0","id":1,"method":"tools/list"\u0000}',
];

/** JSON, but no message. */
const values = ['42', '"x"', 'null', 'true', 'false', '0', '""', '[]', '[[]]', '{}', '{"a":1}', '[null]', '[1,2]'];

describe.each(eras)('POST, %s era', (era) => {
  let client: EraClient;
  beforeAll(async () => {
    client = await connect(era, fixture);
  });

  it.each(broken)('answers 400 with -32700, without id, to broken JSON: %j', async (body) => {
    const reply = await client.post(body);
    expect(reply.status).toBe(400);
    expect(reply.headers['content-type']).toMatch(/^application\/json/);
    expect(reply.json?.error?.code).toBe(-32700);
    expect(reply.json).not.toHaveProperty('id');
    expect(reply.headers).not.toHaveProperty('mcp-session-id');
  });

  it('does not quote the body in the answer', async () => {
    const reply = await client.post('{"password":"hunter2"');
    expect(reply.text).not.toContain('hunter2');
  });

  // https://www.jsonrpc.org/specification#error_object: valid JSON that is no request is -32600
  it.each(values)('answers 400 with -32600 to a value that is no message: %s', async (body) => {
    const reply = await client.post(body);
    expect(reply.status).toBe(400);
    expect(reply.messages).toHaveLength(1);
    expect(reply.json?.error?.code).toBe(-32600);
  });

  /** A call of `echo` whose text is exactly these bytes. */
  function callWith(text: Buffer): Buffer {
    const message = client.message('tools/call', { name: 'echo', arguments: { text: '@' } });
    const [before = '', after = ''] = JSON.stringify(message).split('@');
    return Buffer.concat([Buffer.from(before), text, Buffer.from(after)]);
  }
  const call = (body: Buffer, headers = {}) => client.post(body, { method: 'tools/call', name: 'echo', headers });

  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports: messages MUST be UTF-8 encoded
  it.each<[string, number[]]>([
    ['a continuation that is none', [0xc3, 0x28]],
    ['a lone continuation', [0x80]],
    ['a byte that never occurs', [0xff]],
    ['an overlong slash', [0xc0, 0xaf]],
    ['a sequence cut short', [0xe2, 0x82]],
    ['an encoded surrogate', [0xed, 0xa0, 0x80]],
    ['beyond U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
    ['Latin-1', [0x63, 0x61, 0x66, 0xe9]],
  ])('MUST be UTF-8: answers 400 with -32700 to %s', async (_what, bytes) => {
    const reply = await call(callWith(Buffer.from(bytes)));
    expect(reply.status).toBe(400);
    expect(reply.json?.error?.code).toBe(-32700);
    expect(fixture.ran).toEqual([]);
  });

  it('accepts or refuses a byte order mark, and nothing in between', async () => {
    const reply = await call(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), callWith(Buffer.from('bom'))]));
    expect([200, 400]).toContain(reply.status);
    expect(fixture.ran).toEqual(reply.status === 200 ? ['echo'] : []);
  });

  it.each(['utf16le', 'with a byte order mark'])('refuses UTF-16, %s', async (form) => {
    const text = (form === 'utf16le' ? '' : '\ufeff') + callWith(Buffer.from('a')).toString();
    const reply = await call(Buffer.from(text, 'utf16le'));
    expect([400, 415]).toContain(reply.status);
    expect(fixture.ran).toEqual([]);
  });

  it.each(['\\ud800', 'a\\udfffb', '\\ude00\\ud83d'])(
    'answers valid UTF-8 to the lone surrogate %s',
    async (escape) => {
      const reply = await call(callWith(Buffer.from(escape)));
      expect([200, 400]).toContain(reply.status);
      expect(() => new TextDecoder('utf-8', { fatal: true }).decode(reply.bytes)).not.toThrow();
      expect(reply.messages).toHaveLength(1);
    },
  );

  it('keeps every character of what it was sent', async () => {
    const text = '\u0000\u007f\u0085\u2028\u2029\ufeff\ufffdé漢\u{1f600}"\\/';
    const reply = await client.callTool('echo', { text });
    expect(reply.response?.result?.content).toEqual([{ type: 'text', text }]);
  });

  it('still serves', async () => {
    expect((await client.request('tools/list')).status).toBe(200);
  });
});

describe('without a session', () => {
  it.each(['{"jsonrpc":"2.0","method":"initialize""', '42', '[]', 'null'])('%s opens none', async (body) => {
    const reply = await post(fixture.url, body);
    expect(reply.status).toBe(400);
    expect(reply.headers).not.toHaveProperty('mcp-session-id');
  });

  it('the same for initialize in a body that is not UTF-8', async () => {
    const [before = '', after = ''] = JSON.stringify(initializeMessage()).split('wire');
    const reply = await post(
      fixture.url,
      Buffer.concat([Buffer.from(before), Buffer.from([0xc3]), Buffer.from(after)]),
    );
    expect(reply.status).toBe(400);
    expect(reply.headers).not.toHaveProperty('mcp-session-id');
  });
});
