/** `Mcp-Param-*`: arguments that a client repeats in headers, compared before the tool runs. */
import type { McpServer, Schema } from 'express-mcp';
import * as z from 'zod';
import { createServer, serve } from '../support/serve';
import type { Served } from '../support/serve';
import { legacySession, modern } from '../support/wire';
import type { ModernClient } from '../support/wire';

const mirrored = (name: string) => ({ 'x-mcp-header': name });
const ran: unknown[] = [];

function registerAll(server: McpServer): void {
  const inputSchema = z.object({
    region: z.string().optional().meta(mirrored('Region')),
    count: z.int().optional().meta(mirrored('Count')),
    dry: z.boolean().optional().meta(mirrored('Dry')),
    deep: z.object({ zone: z.string().optional().meta(mirrored('Zone')) }).optional(),
    free: z.string().optional(),
  });
  server.registerTool('deploy', { inputSchema }, (args) => {
    ran.push(args);
    return 'ran';
  });
  const nullable = { type: 'object', properties: { region: { type: ['string', 'null'], ...mirrored('Region') } } };
  server.registerTool('nullable', { inputSchema: nullable }, (args) => {
    ran.push(args);
    return 'ran';
  });
}

let served: Served;
let client: ModernClient;
beforeAll(async () => {
  served = await serve(registerAll);
  client = modern(served);
});
afterAll(() => served.close());
beforeEach(() => ran.splice(0));

const encoded = (value: string) => `=?base64?${Buffer.from(value).toString('base64')}?=`;
type Values = Record<string, string | string[] | undefined>;
const call = (args: object, headers: Values, name = 'deploy') => client.callTool(name, args, { id: 'abc', headers });

async function expectRefused(args: object, headers: Values): Promise<void> {
  const reply = await call(args, headers);
  expect(reply.status).toBe(400);
  expect(reply.json).toMatchObject({ id: 'abc', error: { code: -32020 } });
  expect(ran).toEqual([]);
}

async function expectRun(args: object, headers: Values, name?: string): Promise<void> {
  const reply = await call(args, headers, name);
  expect(reply.status).toBe(200);
  expect(reply.json?.result).not.toHaveProperty('isError');
  expect(ran.splice(0)).toEqual([args]);
}

// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-behavior-for-custom-headers
describe('a value', () => {
  it('that both have runs', async () => {
    await expectRun({ region: 'us-west1' }, { 'Mcp-Param-Region': 'us-west1' });
    await expectRun({ region: 'us-west1' }, { 'mcp-param-region': 'us-west1' });
    await expectRun({ deep: { zone: 'a' } }, { 'Mcp-Param-Zone': 'a' });
    await expectRun({ dry: true, count: -7 }, { 'Mcp-Param-Dry': 'true', 'Mcp-Param-Count': '-7' });
  });

  it('that only the body has MUST be refused', async () => {
    await expectRefused({ region: 'x' }, {});
    await expectRefused({ region: '' }, {});
    await expectRefused({ count: 0 }, {});
    await expectRefused({ dry: false }, {});
    await expectRefused({ deep: { zone: 'a' } }, {});
    await expectRefused({ region: 'x', count: 1 }, { 'Mcp-Param-Region': 'x' });
  });

  it('that differs MUST be refused', async () => {
    await expectRefused({ region: 'x' }, { 'Mcp-Param-Region': 'y' });
    await expectRefused({ region: 'x' }, { 'Mcp-Param-Region': 'X' });
    await expectRefused({ region: 'x' }, { 'Mcp-Param-Region': '' });
    await expectRefused({ region: 'x' }, { 'Mcp-Param-Region': '"x"' });
    await expectRefused({ count: 1 }, { 'Mcp-Param-Count': '2' });
    await expectRefused({ dry: true }, { 'Mcp-Param-Dry': 'TRUE' });
    await expectRefused({ dry: true }, { 'Mcp-Param-Dry': '1' });
    await expectRefused({ region: 'x' }, { 'Mcp-Param-Region': ['x', 'y'] });
  });

  it('that is absent is not expected, null neither', async () => {
    await expectRun({}, {});
    await expectRun({ deep: {} }, {});
    await expectRun({}, {}, 'nullable');
    await expectRun({ region: null }, {}, 'nullable');
  });

  it('that only the header has is a difference, on which somebody on the way may have acted', async () => {
    await expectRefused({}, { 'Mcp-Param-Region': 'x' });
    await expectRefused({ deep: {} }, { 'Mcp-Param-Zone': 'a' });
    const reply = await call({ region: null }, { 'Mcp-Param-Region': 'x' }, 'nullable');
    expect(reply.json?.error?.code).toBe(-32020);
  });

  it('that is empty has an empty header, or an encoded one', async () => {
    await expectRun({ region: '' }, { 'Mcp-Param-Region': '' });
    await expectRun({ region: '' }, { 'Mcp-Param-Region': '=?base64??=' });
  });

  it('MUST be decoded before it is compared', async () => {
    for (const region of ['Hello, 世界', ' padded ', 'line1\nline2', '=?base64?literal?=', 'plain']) {
      await expectRun({ region }, { 'Mcp-Param-Region': encoded(region) });
    }
  });

  it('MUST be refused when it has invalid characters, or is encoded wrongly', async () => {
    await expectRefused({ region: 'é' }, { 'Mcp-Param-Region': Buffer.from('é').toString('latin1') });
    await expectRefused({ region: '=?base64?eA==?=' }, { 'Mcp-Param-Region': '=?base64?eA==?=' });
    await expectRefused({ region: 'x' }, { 'Mcp-Param-Region': '=?base64?eA?=' });
    await expectRefused({ region: 'x' }, { 'Mcp-Param-Region': '=?BASE64?eA==?=' });
    await expectRefused({ region: '\ufffd' }, { 'Mcp-Param-Region': '=?base64?/w==?=' });
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-validation
  it('that is an integer SHOULD be compared as a number', async () => {
    for (const text of ['42', '42.0', '042', '4.2e1']) await expectRun({ count: 42 }, { 'Mcp-Param-Count': text });
    for (const text of ['42.5', '0x2a', '4 2', '', 'forty-two']) {
      await expectRefused({ count: 42 }, { 'Mcp-Param-Count': text });
    }
  });

  it('that is of no tool’s parameter is none of ours', async () => {
    await expectRun({ free: 'x' }, { 'Mcp-Param-Free': 'y', 'Mcp-Param-Zzz': 'z' });
  });
});

describe('a call', () => {
  it('of a legacy session has no such headers', async () => {
    const session = await legacySession(served);
    const reply = await session.callTool('deploy', { region: 'x' }, { headers: { 'Mcp-Param-Region': 'y' } });
    expect(reply.response?.result).not.toHaveProperty('isError');
    expect(ran).toEqual([{ region: 'x' }]);
  });

  it('with arguments of the wrong type is told of those', async () => {
    const reply = await call({ region: 5 }, { 'Mcp-Param-Region': '5' });
    expect(reply.status).toBe(200);
    expect(reply.json?.result).toMatchObject({ isError: true });
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-validation
  it('MUST be refused for its headers first, whatever is wrong with its arguments', async () => {
    await expectRefused({ region: 'x', count: 'many' }, { 'Mcp-Param-Region': 'y', 'Mcp-Param-Count': 'many' });
    await expectRefused({ region: 5 }, {});
    await expectRefused({ region: ['x'] }, { 'Mcp-Param-Region': 'x' });
    await expectRefused({ free: 5 }, { 'Mcp-Param-Region': 'x' });
  });
});

describe('the list', () => {
  it('shows the annotations, so that clients can follow them', async () => {
    const { response } = await client.request('tools/list');
    const [tool] = response?.result?.tools as { inputSchema: { properties: Record<string, object> } }[];
    expect(tool?.inputSchema.properties.region).toEqual({ type: 'string', 'x-mcp-header': 'Region' });
  });
});

// https://modelcontextprotocol.io/specification/2026-07-28/server/tools#x-mcp-header
describe('an annotation that breaks a rule is refused at registration, naming tool and path', () => {
  const string = (name: unknown) => ({ type: 'string', 'x-mcp-header': name });
  const of = (properties: object) => ({ type: 'object', properties });
  it.each<[string, Schema]>([
    ['on a number', of({ a: { type: 'number', ...mirrored('A') } })],
    ['on a list', of({ a: { type: 'array', ...mirrored('A') } })],
    ['on an object', of({ a: { type: 'object', ...mirrored('A') } })],
    ['on a union', of({ a: { anyOf: [{ type: 'string' }, { type: 'integer' }], ...mirrored('A') } })],
    ['inside oneOf', of({ a: { oneOf: [string('A')] } })],
    ['inside the items of a list', of({ a: { type: 'array', items: of({ b: string('A') }) } })],
    ['behind a $ref', { ...of({ a: { $ref: '#/$defs/a' } }), $defs: { a: string('A') } }],
    ['twice, in another case', of({ a: string('Region'), b: string('REGION') })],
    ['empty', of({ a: string('') })],
    ['with a blank', of({ a: string('My Region') })],
    ['with a line break', of({ a: string('A\r\nX: y') })],
    ['with a colon', of({ a: string('A:') })],
    ['not in ASCII', of({ a: string('é') })],
    ['that is no text', of({ a: string(5) })],
    ['of zod, on a number', z.object({ a: z.number().meta(mirrored('A')) })],
  ])('%s', (_what, inputSchema) => {
    const register = () => createServer().registerTool('x', { inputSchema }, () => 'x');
    expect(register).toThrow(TypeError);
    expect(register).toThrow(/^tool "x": inputSchema\/.*: "x-mcp-header" /);
  });
});
