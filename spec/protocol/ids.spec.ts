/** Request ids: every legal one comes back as it was, every other one is refused. */
import express from 'express';
import { connect, eras } from '../support/eras';
import type { EraClient } from '../support/eras';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';

let fixture: Fixture;
let parsing: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
  parsing = await createFixture({ before: [express.json()] });
});
afterAll(() => Promise.all([fixture.close(), parsing.close()]));
beforeEach(() => fixture.ran.splice(0));

const legal = [
  0,
  -0,
  1,
  42,
  -1,
  2 ** 31,
  2 ** 32 + 1,
  1774232524389,
  Number.MAX_SAFE_INTEGER,
  Number.MIN_SAFE_INTEGER,
  '',
  ' ',
  '0',
  '42',
  'req-abc',
  'null',
  '__proto__',
  'é\u2028"\\\n\u{1f600}',
  'x'.repeat(2_000),
];

/** As they stand in the body, and whether a plain number may come back for them. */
const beyond = ['9007199254740993', '-9007199254740993', '9007199254740992', '1e400', '-1e400', '1e20', '1'.repeat(40)];

describe.each(eras)('%s era', (era) => {
  let client: EraClient;
  beforeAll(async () => {
    client = await connect(era, fixture);
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic#result-responses
  it.each(legal)('a result MUST include the same id: %j', async (id) => {
    const list = await client.request('tools/list', {}, { id });
    expect(list.status).toBe(200);
    expect(list.json).toHaveProperty('result');
    expect(list.json?.id).toEqual(id === 0 ? 0 : id);
    const call = await client.callTool('echo', { text: 'a' }, { id });
    expect(call.json?.id).toEqual(id === 0 ? 0 : id);
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic#error-responses
  it.each(legal)('an error MUST include the same id: %j', async (id) => {
    const reply = await client.request('no/such', {}, { id });
    expect(reply.json?.error?.code).toBe(-32601);
    expect(reply.json?.id).toEqual(id === 0 ? 0 : id);
  });

  it.each(legal)('an answer that became a stream has the same id: %j', async (id) => {
    const params = { name: 'progress', arguments: {}, _meta: { progressToken: 't' } };
    const reply = await client.request('tools/call', params, { id });
    expect(reply.events?.length).toBeGreaterThan(1);
    expect(reply.response?.id).toEqual(id === 0 ? 0 : id);
  });

  const raw = (id: string) => JSON.stringify(client.message('tools/list', {}, '@')).replace('"@"', id);

  it.each(beyond)('an id that JSON.parse rounds is refused, or answered to the digit: %s', async (id) => {
    const reply = await client.post(raw(id), { validate: false });
    if (reply.status === 200) expect(reply.text).toMatch(new RegExp(`"id":${id}[,}]`));
    else {
      expect(reply.status).toBe(400);
      expect(reply.json?.error?.code).toBe(-32600);
      expect(reply.json).not.toHaveProperty('id');
    }
  });

  it.each(beyond)('the same behind express.json(): %s', async (id) => {
    const other = await connect(era, parsing);
    const reply = await other.post(raw(id), { validate: false });
    expect(reply.status).toBe(400);
    expect(reply.json?.error?.code).toBe(-32600);
  });

  it.each(['1.0', '1e0', '10e-1', '-0.0'])(
    'an integer written with a fraction or an exponent is one: %s',
    async (id) => {
      const reply = await client.post(raw(id));
      expect(reply.status).toBe(200);
      expect(reply.json?.id).toBe(Number(id) + 0);
    },
  );

  // https://modelcontextprotocol.io/specification/2026-07-28/basic#requests
  it.each(['null', '1.5', '-0.5', 'true', 'false', '{}', '[]', '[1]', '{"id":1}', '{"toString":1}', '0.1'])(
    'the id MUST be a string or an integer, and MUST NOT be null, so 400 with -32600: %s',
    async (id) => {
      const list = await client.post(raw(id));
      expect(list.status).toBe(400);
      expect(list.json?.error?.code).toBe(-32600);
      expect(list.json).not.toHaveProperty('id');
      const call = JSON.stringify(client.message('tools/call', { name: 'echo', arguments: { text: 'a' } }, '@'));
      const reply = await client.post(call.replace('"@"', id), { method: 'tools/call', name: 'echo' });
      expect(reply.status).toBe(400);
      expect(fixture.ran).toEqual([]);
    },
  );
});

describe('initialize', () => {
  it.each(['null', '1.5', '{}', '[1]', 'true', '9007199254740993'])('opens no session under the id %s', async (id) => {
    const client = await connect('legacy', fixture);
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } };
    const body = JSON.stringify(client.message('initialize', params, '@')).replace('"@"', id);
    const reply = await client.post(body, { headers: { 'Mcp-Session-Id': undefined } });
    expect(reply.status).toBe(400);
    expect(reply.headers).not.toHaveProperty('mcp-session-id');
  });
});
