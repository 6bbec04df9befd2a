/** What a handler may return, and what reaches the caller of it. */
import type { ContentBlock, McpServer } from 'express-mcp';
import { connect, eras } from '../support/eras';
import type { EraClient } from '../support/eras';
import { serve } from '../support/serve';
import type { Served } from '../support/serve';
import { textOf } from '../support/wire';

// https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-result
const blocks: Record<string, ContentBlock> = {
  text: {
    type: 'text',
    text: 'Hello',
    annotations: { audience: ['user'], priority: 0.5, lastModified: '2026-07-28T00:00:00Z' },
  },
  image: { type: 'image', data: 'AA==', mimeType: 'image/png', annotations: { priority: 1 } },
  audio: { type: 'audio', data: 'AA==', mimeType: 'audio/wav' },
  link: { type: 'resource_link', uri: 'x:1', name: 'one', title: 'One', mimeType: 'text/plain', size: 3 },
  resource: { type: 'resource', resource: { uri: 'x:1', text: 'one', mimeType: 'text/plain' } },
  blob: { type: 'resource', resource: { uri: 'x:1', blob: 'AA==' } },
};

const wrong: Record<string, unknown> = {
  number: 5,
  boolean: false,
  null: null,
  'an object that is no result': { kind: 'sun' },
  'a list that is no content': [1, 2],
  'content of an unknown kind': [{ type: 'video', data: '' }],
  'a text block without text': [{ type: 'text' }],
  'an image without its type': [{ type: 'image', data: 'AA==' }],
  'a link without a name': [{ type: 'resource_link', uri: 'x:1' }],
  'a resource without contents': [{ type: 'resource', resource: { uri: 'x:1' } }],
  'a result whose content is none': { content: 'text' },
  'a result whose content is wrong': { content: [{ type: 'text', text: 5 }] },
  'a function': () => 'text',
};

const circular: Record<string, unknown> = {};
circular.self = circular;
const unsayable: Record<string, unknown> = { bigint: { n: 1n }, circular };

/** What only the protocol may say. */
const presumptuous = {
  resultType: 'input_required',
  ttlMs: 5,
  cacheScope: 'public',
  _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'another', version: '0' }, 'example.com/a': 1 },
} as const;

function registerAll(server: McpServer): void {
  const give = (name: string, value: unknown) => server.registerTool(name, {}, () => value as string);
  give('string', 'Hello');
  give('empty', '');
  give('nothing', undefined);
  give('no-blocks', []);
  for (const [name, block] of Object.entries(blocks)) give(`block-${name}`, [block]);
  give('several', Object.values(blocks));
  give('full', { content: [blocks.text], isError: false, _meta: { 'example.com/a': 1 } });
  give('presumptuous', { content: [], ...presumptuous });
  const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'Hi' } }];
  server.registerPrompt('presumptuous', {}, () => ({ messages, ...presumptuous }));
  server.registerResource('presumptuous', 'x:p', {}, () => ({ contents: [], ...presumptuous }));
  give('failed', { content: [blocks.text], isError: true });
  give('extra', { content: [], 'example.com/own': [1] });
  Object.values(wrong).forEach((value, index) => give(`wrong-${index}`, value));
  for (const [name, structuredContent] of Object.entries(unsayable)) give(name, { content: [], structuredContent });
  server.registerTool('async', {}, async () => 'later');
}

let served: Served;
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
  const resultOf = async (name: string) => (await client.callTool(name)).response?.result;

  it.each([
    ['string', 'Hello'],
    ['empty', ''],
    ['async', 'later'],
  ])('a text is one block of text: %s', async (name, text) => {
    expect(await resultOf(name)).toMatchObject({ content: [{ type: 'text', text }] });
  });

  it.each(['nothing', 'no-blocks'])('nothing is no content: %s', async (name) => {
    expect(await resultOf(name)).toMatchObject({ content: [] });
    expect(await resultOf(name)).not.toHaveProperty('isError');
  });

  it.each(Object.entries(blocks))('a block reaches the caller as it is: %s', async (name, block) => {
    expect((await resultOf(`block-${name}`))?.content).toEqual([block]);
  });

  it('several stay in order', async () => {
    expect((await resultOf('several'))?.content).toEqual(Object.values(blocks));
  });

  it('a full result is sent as it is', async () => {
    expect(await resultOf('full')).toMatchObject({
      content: [blocks.text],
      isError: false,
      _meta: { 'example.com/a': 1 },
    });
    expect(await resultOf('failed')).toMatchObject({ content: [blocks.text], isError: true });
    expect(await resultOf('extra')).toMatchObject({ content: [], 'example.com/own': [1] });
  });

  it.each([
    ['tools/call', { name: 'presumptuous' }],
    ['prompts/get', { name: 'presumptuous' }],
    ['resources/read', { uri: 'x:p' }],
  ])('what is the protocol’s to say is not the author’s: %s', async (method, params) => {
    const result = (await client.request(method, params)).response?.result;
    const { resultType, ttlMs, cacheScope, _meta } = result ?? {};
    const hints = method === 'resources/read' ? [0, 'private'] : [undefined, undefined];
    const serverInfo = { 'io.modelcontextprotocol/serverInfo': { name: 'bare', version: '1.0.0' } };
    if (era === 'modern') {
      expect([resultType, ttlMs, cacheScope]).toEqual(['complete', ...hints]);
      expect(_meta).toEqual({ ...serverInfo, 'example.com/a': 1 });
    } else {
      expect([resultType, ttlMs, cacheScope]).toEqual([undefined, undefined, undefined]);
      expect(_meta).toEqual({ 'example.com/a': 1 });
    }
  });

  it.each(Object.keys(wrong).map((what, index) => [what, index] as const))(
    'what no client could read is a fault that names the tool: %s',
    async (_what, index) => {
      const reply = await client.callTool(`wrong-${index}`, {}, { id: 0 });
      expect(reply.response).toEqual({ jsonrpc: '2.0', id: 0, error: { code: -32603, message: 'Internal error' } });
      expect(served.errors).toEqual([
        expect.objectContaining({
          name: 'TypeError',
          message: expect.stringMatching(`^tool "wrong-${index}" returned `),
        }),
      ]);
    },
  );

  it.each(Object.keys(unsayable))('what JSON cannot say is a fault too, and the call is answered: %s', async (name) => {
    const reply = await client.callTool(name, {}, { id: 0 });
    // A legacy client gets structured content that is an object, which these are.
    expect(reply.status).toBe(200);
    expect(reply.response).toEqual({ jsonrpc: '2.0', id: 0, error: { code: -32603, message: 'Internal error' } });
    expect(served.errors).toHaveLength(1);
    expect(textOf(await client.callTool('string'))).toBe('Hello');
  });
});
