/** Prompts: what a handler may write, what the list says of arguments. */
import type { ContentBlock, McpServer } from 'express-mcp';
import * as z from 'zod';
import { connect, eras } from '../support/eras';
import type { EraClient } from '../support/eras';
import { serve } from '../support/serve';
import type { Served } from '../support/serve';

// https://modelcontextprotocol.io/specification/2026-07-28/server/prompts#promptmessage
const blocks: Record<string, ContentBlock> = {
  text: { type: 'text', text: 'Hello', annotations: { audience: ['user'], priority: 0.5 } },
  image: { type: 'image', data: 'AA==', mimeType: 'image/png' },
  audio: { type: 'audio', data: 'AA==', mimeType: 'audio/wav' },
  resource: { type: 'resource', resource: { uri: 'x:1', text: 'one', mimeType: 'text/plain' } },
  blob: { type: 'resource', resource: { uri: 'x:2', blob: 'AA==' } },
  resource_link: { type: 'resource_link', uri: 'x:3', name: 'three', description: 'Third' },
};

function registerAll(server: McpServer): void {
  server.registerPrompt('text', { title: 'Text', description: 'Says hello' }, () => 'Hello');
  for (const [name, content] of Object.entries(blocks)) {
    server.registerPrompt(`content-${name}`, {}, () => [
      { role: 'user', content },
      { role: 'assistant', content },
    ]);
  }
  server.registerPrompt('full', { description: 'Of the prompt' }, async () => ({
    description: 'Of this answer',
    messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }],
    _meta: { 'example.com/a': 1 },
  }));
  server.registerPrompt('empty', {}, () => []);
  const code = z.object({
    language: z.enum(['go', 'rust']).describe('Of the code'),
    style: z.string().optional().meta({ title: 'Style', description: 'House style' }),
    lines: z.coerce.number().default(10),
  });
  server.registerPrompt('code', { argsSchema: code }, (args) => JSON.stringify(args));
  server.registerPrompt(
    'by id',
    { argsSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] } },
    ({ id }) => String(id),
  );
  for (const [name, value] of Object.entries({
    number: 5,
    role: [{ role: 'system', content: blocks.text }],
    content: [{ role: 'user', content: 'text' }],
    kind: [{ role: 'user', content: { type: 'video' } }],
    nothing: undefined,
  })) {
    server.registerPrompt(`wrong-${name}`, {}, () => value as never);
  }
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
  const get = (name: string, args?: object) => client.request('prompts/get', { name, arguments: args });

  it('a text is one message of the user', async () => {
    const { response } = await get('text');
    expect(response?.result).toMatchObject({
      description: 'Says hello',
      messages: [{ role: 'user', content: { type: 'text', text: 'Hello' } }],
    });
  });

  it.each(Object.entries(blocks))('a message may be of the kind: %s', async (name, content) => {
    const { response } = await get(`content-${name}`);
    expect(response?.result?.messages).toEqual([
      { role: 'user', content },
      { role: 'assistant', content },
    ]);
  });

  it('a full result is sent as it is, its own description first', async () => {
    const { response } = await get('full');
    expect(response?.result).toMatchObject({
      description: 'Of this answer',
      messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }],
      _meta: { 'example.com/a': 1 },
    });
  });

  it('no messages at all is an answer too', async () => {
    expect((await get('empty')).response?.result?.messages).toEqual([]);
  });

  it.each(['number', 'role', 'content', 'kind', 'nothing'])(
    'what no client could use is a fault of the server: wrong %s',
    async (name) => {
      expect((await get(`wrong-${name}`)).response?.error).toEqual({ code: -32603, message: 'Internal error' });
      expect(served.errors).toEqual([
        new TypeError(`prompt "wrong-${name}" returned none of text, messages and a GetPromptResult`),
      ]);
    },
  );

  it('the handler gets the arguments as the schema makes them', async () => {
    const text = async (args: object) => {
      const { response } = await get('code', args);
      const [message] = response?.result?.messages as { content: { text: string } }[];
      return JSON.parse(message!.content.text) as unknown;
    };
    expect(await text({ language: 'go' })).toEqual({ language: 'go', lines: 10 });
    expect(await text({ language: 'go', style: 'x', lines: '3', extra: '1' })).toEqual({
      language: 'go',
      style: 'x',
      lines: 3,
    });
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/server/prompts#error-handling
  it.each([{}, { language: 'cobol' }, { language: 'go', lines: 'many' }])(
    'arguments that do not fit SHOULD be -32602, naming each: %j',
    async (args) => {
      const { response } = await get('code', args);
      expect(response?.error).toMatchObject({
        code: -32602,
        message: expect.stringMatching(/^Invalid arguments for prompt code:\n(language|lines): /),
      });
    },
  );

  it('the list shows each argument, and which are needed', async () => {
    const { response } = await client.request('prompts/list');
    const prompts = response?.result?.prompts as { name: string }[];
    expect(prompts[0]).toEqual({ name: 'text', title: 'Text', description: 'Says hello' });
    expect(prompts.find(({ name }) => name === 'code')).toEqual({
      name: 'code',
      arguments: [
        { name: 'language', description: 'Of the code', required: true },
        { name: 'style', title: 'Style', description: 'House style' },
        { name: 'lines' },
      ],
    });
    expect(prompts.find(({ name }) => name === 'by id')).toEqual({
      name: 'by id',
      arguments: [{ name: 'id', required: true }],
    });
  });

  it('a name may have any characters: it travels encoded where it must', async () => {
    expect((await get('by id', { id: '7' })).response?.result).toHaveProperty('messages');
  });
});
