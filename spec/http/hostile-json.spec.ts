/** JSON that is meant to hurt: deep, or with keys that reach for prototypes. */
import type { AuthorizerCall } from 'express-mcp';
import { allow } from 'express-mcp';
import { connect, eras } from '../support/eras';
import type { EraClient } from '../support/eras';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { textOf } from '../support/wire';

const seen: AuthorizerCall[] = [];
let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture({
    server: {
      authorizer(call) {
        seen.push(call);
        return allow();
      },
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
    ['anything', { value: '@' }, arrays],
    ['anything', { value: '@' }, objects],
    ['echo', { text: '@' }, arrays],
    ['echo', { text: '@' }, objects],
    ['optional', { unknown: '@' }, arrays],
    ['nothing', { unknown: '@' }, objects],
  ])('in the arguments of %s (%j) answers an error within a second, and others meanwhile', async (name, args, text) => {
    const started = Date.now();
    const deep = client.post(bent(call(name, args), text), { method: 'tools/call', name });
    const other = await client.request('tools/list');
    const reply = await deep;
    expect(Date.now() - started).toBeLessThan(1_000);
    expect(other.status).toBe(200);
    const refused = reply.status >= 400 || reply.response?.result?.isError === true;
    expect({ refused, error: reply.response?.error?.code }).not.toMatchObject({ refused: false });
    expect(reply.response?.error?.code).not.toBe(-32603);
  });

  it.each([
    ['id', { jsonrpc: '2.0', id: '@', method: 'tools/list' }],
    ['method', { jsonrpc: '2.0', id: 1, method: '@' }],
    ['params', { jsonrpc: '2.0', id: 1, method: 'tools/list', params: '@' }],
    ['_meta', { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: '@' } }],
    ['the message itself', '@'],
  ])('in %s answers an error', async (_where, message) => {
    for (const text of [arrays, objects]) {
      const reply = await client.post(bent(message as object, text));
      expect(reply.response).toHaveProperty('error');
      expect(reply.response?.error?.code).not.toBe(-32603);
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
    const call = seen.find((candidate) => candidate.name === name && candidate.operation === 'call');
    expect(call).toBeDefined();
    expect((call?.arguments as { polluted?: unknown } | undefined)?.polluted).toBeUndefined();
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
