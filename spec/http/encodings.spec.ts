/** Compressed bodies in both directions. */
import { brotliCompressSync, deflateSync, gunzipSync, gzipSync } from 'node:zlib';
import compression from 'compression';
import { connect, eras } from '../support/eras';
import type { EraClient } from '../support/eras';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';

describe.each(eras)('behind compression(), %s era', (era) => {
  let fixture: Fixture;
  let client: EraClient;
  beforeAll(async () => {
    fixture = await createFixture({
      before: [compression()],
      setup(server) {
        const description = 'A long description. '.repeat(10);
        for (let n = 0; n < 90; n++) server.registerTool(`tool-${n}`, { description }, () => 'ok');
      },
    });
    client = await connect(era, fixture);
  });
  afterAll(() => fixture.close());

  it.each([undefined, 'identity', 'gzip;q=0, br;q=0, deflate;q=0'])(
    'a long answer comes as it is for Accept-Encoding: %s',
    async (encoding) => {
      const reply = await client.request('tools/list', {}, { headers: { 'Accept-Encoding': encoding } });
      expect(reply.status).toBe(200);
      expect(reply.bytes.length).toBeGreaterThan(20_000);
      expect(reply.headers).not.toHaveProperty('content-encoding');
      expect(reply.response?.result?.tools).toContainEqual(expect.objectContaining({ name: 'tool-80' }));
    },
  );

  it('a long answer that comes compressed decodes to the same', async () => {
    const plain = await client.request('tools/list', {}, { id: 'same' });
    const headers = { 'Accept-Encoding': 'gzip' };
    const packed = await client.request('tools/list', {}, { id: 'same', headers });
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(packed.bytes).toString()).toBe(plain.text);
  });
});

describe.each(eras)('a compressed request, %s era', (era) => {
  let fixture: Fixture;
  let client: EraClient;
  beforeAll(async () => {
    fixture = await createFixture();
    client = await connect(era, fixture);
  });
  afterAll(() => fixture.close());
  beforeEach(() => fixture.ran.splice(0));

  const call = (text: string) => JSON.stringify(client.message('tools/call', { name: 'echo', arguments: { text } }));
  const send = (body: Buffer | string, encoding: string) =>
    client.post(body, { method: 'tools/call', name: 'echo', headers: { 'Content-Encoding': encoding } });

  it.each([
    ['gzip', gzipSync],
    ['GZIP', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['identity', Buffer.from],
  ])('in %s is inflated, or refused with 415', async (encoding, compress) => {
    const reply = await send(compress(call('packed')), encoding);
    expect([200, 415]).toContain(reply.status);
    expect(fixture.ran).toEqual(reply.status === 200 ? ['echo'] : []);
  });

  it('in gzip is served', async () => {
    const reply = await send(gzipSync(call('packed')), 'gzip');
    expect(reply.response?.result?.content).toEqual([{ type: 'text', text: 'packed' }]);
  });

  it.each(['zstd', 'compress', 'gzip, gzip', 'gzip, br', 'nonsense', 'gzipx'])(
    'in %s answers 415',
    async (encoding) => {
      const reply = await send(gzipSync(call('a')), encoding);
      expect(reply.status).toBe(415);
      expect(fixture.ran).toEqual([]);
    },
  );

  it.each<[string, () => Buffer | string]>([
    ['plain text', () => call('a')],
    ['cut off', () => gzipSync(call('a')).subarray(0, 40)],
    ['empty', () => ''],
    ['of text that is not JSON', () => gzipSync('{"jsonrpc":')],
    ['with its checksum wrong', () => corrupt(gzipSync(call('a')))],
  ])('that claims gzip but is %s answers 400 with -32700', async (_what, body) => {
    const reply = await send(body(), 'gzip');
    expect(reply.status).toBe(400);
    expect(reply.json?.error?.code).toBe(-32700);
    expect(fixture.ran).toEqual([]);
  });

  it('that inflates past the limit answers 413, and is not inflated to its end', async () => {
    const member = gzipSync(Buffer.alloc(8 * 1024 * 1024, 'a'));
    const bomb = Buffer.concat(Array.from({ length: 25 }, () => member));
    expect(bomb.length).toBeLessThan(300_000);
    const before = process.memoryUsage().rss;
    const reply = await send(bomb, 'gzip');
    expect(reply.status).toBe(413);
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
    expect((await client.request('tools/list')).status).toBe(200);
  });

  it('is limited by its inflated size exactly', async () => {
    const limited = await createFixture({ router: { maxBodyBytes: 2_000 } });
    try {
      const other = await connect(era, limited);
      const message = other.message('tools/list');
      const padding = 2_000 - Buffer.byteLength(JSON.stringify({ ...message, x: '' }));
      const at = (length: number) =>
        other.post(gzipSync(JSON.stringify({ ...message, x: 'x'.repeat(length) })), {
          headers: { 'Content-Encoding': 'gzip' },
        });
      expect((await at(padding)).status).toBe(200);
      expect((await at(padding + 1)).status).toBe(413);
    } finally {
      await limited.close();
    }
  });
});

function corrupt(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  copy.writeUInt32LE((copy.readUInt32LE(copy.length - 8) ^ 1) >>> 0, copy.length - 8);
  return copy;
}
