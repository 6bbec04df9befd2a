/** JSON that is meant to hurt: deep, or with keys that reach for prototypes. */
import type { ToolQuestion } from 'express-mcp';
import { allow } from 'express-mcp';
import * as z from 'zod';
import { connect, eras } from '../support/eras';
import type { EraClient } from '../support/eras';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { textOf } from '../support/wire';

/** Accepts every JSON value, and looks at each part of it. */
const anything = {
  anyOf: [
    { type: ['string', 'number', 'boolean', 'null'] },
    { type: 'array', items: { $ref: '#/$defs/any' } },
    { type: 'object', additionalProperties: { $ref: '#/$defs/any' } },
  ],
};

const seen: ToolQuestion[] = [];
let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture({
    server: {
      authorizer(call) {
        seen.push(call);
        return allow();
      },
    },
    setup(server) {
      const note = (name: string) => () => {
        fixture.ran.push(name);
        return 'ran';
      };
      const tree = {
        type: 'object',
        properties: { value: { $ref: '#/$defs/any' } },
        $defs: { any: anything },
      } as const;
      server.registerTool('recursive', { inputSchema: z.object({ value: z.json() }) }, note('recursive'));
      server.registerTool('recursive-plain', { inputSchema: tree }, note('recursive-plain'));
    },
  });
});
afterAll(() => fixture.close());
beforeEach(() => {
  fixture.ran.splice(0);
  fixture.calls.splice(0);
  seen.splice(0);
});

const depth = 100_000;
const arrays = '['.repeat(depth) + ']'.repeat(depth);
const objects = '{"a":'.repeat(depth) + '1' + '}'.repeat(depth);

describe.each(eras)('deep nesting, %s era', (era) => {
  let client: EraClient;
  beforeAll(async () => {
    client = await connect(era, fixture);
  });

  /** The request's text with `"@"` replaced. */
  const bent = (message: object, text: string) => JSON.stringify(message).replace('"@"', text);
  const call = (name: string, args: object) => client.message('tools/call', { name, arguments: args }, 'deep');

  it.each([
    ['anything', { value: '@' }],
    ['recursive', { value: '@' }],
    ['recursive-plain', { value: '@' }],
    ['echo', { text: '@' }],
  ])('in the arguments of %s (%j) is refused promptly, and others are served meanwhile', async (name, args) => {
    for (const text of [arrays, objects]) {
      const started = Date.now();
      const deep = client.post(bent(call(name, args), text), { method: 'tools/call', name });
      const other = await client.request('tools/list');
      const reply = await deep;
      expect(Date.now() - started).toBeLessThan(2_000);
      expect(other.status).toBe(200);
      expect(reply.response?.error?.code).not.toBe(-32603);
      expect(reply.status >= 400 || reply.response?.result?.isError === true).toBe(true);
      expect(fixture.ran).toEqual([]);
    }
  });

  it.each([
    ['id', { jsonrpc: '2.0', id: '@', method: 'tools/list' }],
    ['method', { jsonrpc: '2.0', id: 1, method: '@' }],
    ['the message itself', '@'],
  ])('in %s is refused', async (_where, message) => {
    for (const text of [arrays, objects]) {
      const reply = await client.post(bent(message as object, text));
      expect(reply.response).toHaveProperty('error');
      expect(reply.response?.error?.code).not.toBe(-32603);
    }
  });

  it.each(['optional', 'nothing'])('in an argument that %s does not know is refused or ignored', async (name) => {
    for (const text of [arrays, objects]) {
      const reply = await client.post(bent(call(name, { unknown: '@' }), text), { method: 'tools/call', name });
      expect([undefined, -32600, -32602, -32700]).toContain(reply.response?.error?.code);
    }
  });

  it.each(['params', '_meta'])('in %s is refused or ignored', async (where) => {
    const params = where === 'params' ? '@' : { _meta: '@' };
    for (const text of [arrays, objects]) {
      const reply = await client.post(bent({ jsonrpc: '2.0', id: 1, method: 'tools/list', params }, text));
      expect([undefined, -32600, -32602, -32700]).toContain(reply.response?.error?.code);
    }
  });

  it('in a field that nobody reads does no harm', async () => {
    const reply = await client.post(bent({ ...client.message('tools/list'), unknown: '@' }, arrays));
    expect(reply.status).toBeLessThan(500);
    expect((await client.request('tools/list')).status).toBe(200);
  });
});

describe.each(eras)('keys that name prototypes, %s era', (era) => {
  let client: EraClient;
  beforeAll(async () => {
    client = await connect(era, fixture);
  });

  const poison = '"__proto__":{"polluted":"yes"},"constructor":{"prototype":{"polluted":"yes"}}';

  async function callPolluted(): Promise<string> {
    return textOf(await client.callTool('polluted', {}));
  }

  it.each(['anything', 'optional'])('in the arguments of %s reach no prototype', async (name) => {
    const message = client.message('tools/call', { name, arguments: { a: '1', value: 1 } });
    const body = JSON.stringify(message).replace('"a":"1"', `"a":"1",${poison}`);
    const reply = await client.post(body, { method: 'tools/call', name });
    expect(reply.status).toBe(200);
    expect(await callPolluted()).toBe('undefined');
    for (const { args } of fixture.calls) expect((args as { polluted?: unknown }).polluted).toBeUndefined();
    const asked = seen.flatMap((question) => (question.operation === 'call' && question.name === name ? question : []));
    expect(asked).toHaveLength(1);
    expect((asked[0]?.arguments as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it.each(['"params":{', '"_meta":{', '{"jsonrpc"', '"io.modelcontextprotocol/clientCapabilities":{'])(
    'at %s reach no prototype',
    async (where) => {
      const message = client.message('tools/list', { _meta: {} });
      const text = JSON.stringify(message);
      const body = where.endsWith('{')
        ? text.replace(where, `${where}${poison},`).replace(',}', '}')
        : text.replace(where, `{${poison},"jsonrpc"`);
      const reply = await client.post(body);
      expect(reply.status).toBe(200);
      expect(await callPolluted()).toBe('undefined');
    },
  );

  it('stand in for nothing that is missing', async () => {
    const text = '{"jsonrpc":"2.0","__proto__":{"id":1,"method":"tools/list"}}';
    const reply = await client.post(text);
    expect(reply.status).toBe(400);
    expect(reply.json?.error?.code).toBe(-32600);
  });
});
