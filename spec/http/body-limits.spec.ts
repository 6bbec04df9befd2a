/** How much a POST may carry. */
import { once } from 'node:events';
import { connect, eras } from '../support/eras';
import type { EraClient } from '../support/eras';
import { beginRequest, readReply, responseTo } from '../support/exchange';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { initializeMessage, modernRequest, post } from '../support/wire';

const MIB = 1024 * 1024;
const limit = 2_000;

describe.each(eras)('maxBodyBytes, %s era', (era) => {
  let fixture: Fixture;
  let client: EraClient;
  beforeAll(async () => {
    fixture = await createFixture({ router: { maxBodyBytes: limit } });
    client = await connect(era, fixture);
  });
  afterAll(() => fixture.close());
  beforeEach(() => fixture.ran.splice(0));

  /** A call whose body has exactly that many bytes. */
  function bodyOf(bytes: number, pad = 'x'): string {
    const args = { text: '' };
    const message = client.message('tools/call', { name: 'echo', arguments: args });
    const room = bytes - Buffer.byteLength(JSON.stringify(message));
    args.text = pad.repeat(Math.floor(room / Buffer.byteLength(pad)));
    return JSON.stringify(message).padEnd(bytes - Buffer.byteLength(args.text) + args.text.length);
  }
  const send = (body: string) => client.post(body, { method: 'tools/call', name: 'echo' });

  it.each(['x', 'é', '\u{1f600}'])('serves a body of exactly the limit, of %s', async (pad) => {
    const reply = await send(bodyOf(limit, pad));
    expect(reply.status).toBe(200);
    expect(fixture.ran).toEqual(['echo']);
  });

  it.each(['x', 'é'])('answers 413 to one byte more, of %s, as JSON without a result', async (pad) => {
    const reply = await send(bodyOf(limit + 1, pad));
    expect(reply.status).toBe(413);
    expect(reply.headers['content-type']).toMatch(/^application\/json/);
    expect(reply.json?.error?.code).toBe(-32600);
    expect(reply.json).not.toHaveProperty('result');
    expect(fixture.ran).toEqual([]);
  });

  it('counts a chunked body, of the limit and of one byte more', async () => {
    for (const [extra, status] of [
      [0, 200],
      [1, 413],
    ] as const) {
      const body = bodyOf(limit + extra);
      const headers = { ...client.headers('tools/call', 'echo'), 'Transfer-Encoding': 'chunked' };
      const req = beginRequest(fixture.url, { headers });
      const answered = responseTo(req);
      req.write(body.slice(0, 500));
      req.end(body.slice(500));
      expect((await readReply(await answered, { body })).status).toBe(status);
    }
  });

  it('keeps serving after it', async () => {
    expect((await send(bodyOf(limit * 50))).status).toBe(413);
    expect((await client.request('tools/list')).status).toBe(200);
  });
});

describe('by default', () => {
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await createFixture();
  });
  afterAll(() => fixture.close());

  it('4 MiB are read and one byte more is refused', async () => {
    const text = JSON.stringify(initializeMessage());
    expect((await post(fixture.url, text.padEnd(4 * MIB))).status).toBe(200);
    expect((await post(fixture.url, text.padEnd(4 * MIB + 1))).status).toBe(413);
  });

  it.each(eras)('a %s upload without a length and without an end is cut at the limit', async (era) => {
    const headers = era === 'modern' ? modernRequest('tools/call', { name: 'echo' }).headers : {};
    const req = beginRequest(fixture.url, { headers: { ...headers, 'Transfer-Encoding': 'chunked' } });
    let answered = false;
    const response = responseTo(req).then((res) => {
      answered = true;
      return res;
    });
    const before = process.memoryUsage().rss;
    const chunk = Buffer.alloc(MIB, 'a');
    let sent = 0;
    const closed = once(req, 'close').catch(() => undefined);
    req.write('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"');
    while (!answered && sent < 200 * MIB && !req.destroyed) {
      sent += chunk.length;
      const drained = once(req, 'drain').catch(() => undefined);
      if (!req.write(chunk)) await Promise.race([drained, response.catch(() => undefined), closed]);
    }
    const reply = await readReply(await response);
    req.destroy();
    expect(reply.status).toBe(413);
    expect(reply.json?.error?.code).toBe(-32600);
    expect(sent).toBeLessThan(50 * MIB);
    expect(process.memoryUsage().rss - before).toBeLessThan(80 * MIB);
  });

  it('a body that never comes whole leaves nothing behind when its sender gives up', async () => {
    const req = beginRequest(fixture.url, { headers: { 'Content-Length': '1000' } });
    req.on('error', () => undefined);
    const arrived = once(fixture.httpServer, 'request');
    req.write('{"jsonrpc":');
    await arrived;
    req.destroy();
    expect((await post(fixture.url, initializeMessage())).status).toBe(200);
  });
});
