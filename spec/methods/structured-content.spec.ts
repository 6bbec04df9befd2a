/** What a tool with an `outputSchema` may return, and how it reaches clients of each revision. */
import type { McpServer } from 'express-mcp';
import { ToolError } from 'express-mcp';
import * as z from 'zod';
import { connect, eras } from '../support/eras';
import type { EraClient } from '../support/eras';
import { join } from '../support/memory';
import { revisions } from '../support/schema';
import { createServer, serve } from '../support/serve';
import type { Served } from '../support/serve';
import { textOf } from '../support/wire';

const weather = z.object({ celsius: z.number(), sky: z.string().default('clear') });
const text = (value: string) => [{ type: 'text' as const, text: value }];

/** Every shape that a handler may return by the types, and shapes that only a cast lets through. */
function registerWeather(server: McpServer): void {
  const register = (name: string, value: unknown) =>
    server.registerTool(name, { outputSchema: weather }, () => {
      if (value instanceof Error) throw value;
      return value as { celsius: number };
    });
  register('value', { celsius: 20 });
  register('full', { content: text('20 degrees'), structuredContent: { celsius: 20 }, _meta: { 'example.com/a': 1 } });
  register('structured-only', { structuredContent: { celsius: 20 } });
  register('extra-keys', { celsius: 20, station: 'secret' });
  register('failed', { isError: true, content: text('no station') });
  register('failed-with-rest', { isError: true, content: text('no station'), structuredContent: { celsius: 'n/a' } });
  register('tool-error', new ToolError('no station'));
  register('text-only', { content: text('20 degrees') });
  register('mismatch', { celsius: 'warm' });
  register('mismatch-in-full', { content: text('warm'), structuredContent: { celsius: 'warm' } });
  register('undefined', undefined);
  register('null', null);
  register('string', '20');
  register('content', text('20 degrees'));
  server.registerTool('array', { outputSchema: z.array(z.object({ id: z.string() })) }, () => [
    { id: 'a' },
    { id: 'b' },
  ]);
  server.registerTool('array-in-full', { outputSchema: z.array(z.number()) }, () => ({
    content: text('one, two'),
    structuredContent: [1, 2],
  }));
  server.registerTool('number', { outputSchema: z.number() }, () => 7);
  server.registerTool('no-value', { outputSchema: z.null() }, () => null);
  server.registerTool('plain-array', { outputSchema: { type: 'array', items: { type: 'integer' } } }, () => [1]);
  server.registerTool('no-schema', {}, () => ({ content: text('see'), structuredContent: ['x'] as unknown }));
}

describe.each(eras)('%s era', (era) => {
  let served: Served;
  let client: EraClient;
  beforeAll(async () => {
    served = await serve(registerWeather);
    client = await connect(era, served);
  });
  afterAll(() => served.close());
  beforeEach(() => served.errors.splice(0));

  // https://modelcontextprotocol.io/specification/2026-07-28/server/tools#structured-content
  it.each(['value', 'structured-only'])(
    'a value that conforms is sent, and SHOULD be repeated as text: %s',
    async (name) => {
      const { response } = await client.callTool(name);
      expect(response?.result).toMatchObject({ structuredContent: { celsius: 20, sky: 'clear' } });
      expect(response?.result).not.toHaveProperty('isError');
      const [block] = response?.result?.content as { text: string }[];
      expect(JSON.parse(block!.text)).toEqual({ celsius: 20, sky: 'clear' });
    },
  );

  it('the author’s own text and _meta stand beside it', async () => {
    const { response } = await client.callTool('full');
    expect(response?.result).toMatchObject({
      content: text('20 degrees'),
      structuredContent: { celsius: 20, sky: 'clear' },
      _meta: { 'example.com/a': 1 },
    });
  });

  it('what the schema does not name does not leave the server', async () => {
    expect((await client.callTool('extra-keys')).text).not.toContain('secret');
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/server/tools#output-schema: MUST conform
  it.each(['failed', 'failed-with-rest', 'tool-error'])(
    'a failure reaches the caller as its own text, without structured content that MUST conform: %s',
    async (name) => {
      const { response } = await client.callTool(name);
      expect(response?.result).toMatchObject({ isError: true, content: text('no station') });
      expect(response?.result).not.toHaveProperty('structuredContent');
      expect(served.errors).toEqual([]);
    },
  );

  it.each(['text-only', 'mismatch', 'mismatch-in-full', 'undefined', 'null', 'string', 'content'])(
    'what does not conform MUST NOT be a success, and onError hears which tool: %s',
    async (name) => {
      const reply = await client.callTool(name);
      expect(reply.status).toBe(200);
      expect(reply.response?.error).toEqual({ code: -32603, message: 'Internal error' });
      expect(served.errors).toEqual([
        expect.objectContaining({
          message: expect.stringMatching(`^tool "${name}" returned`),
        }),
      ]);
    },
  );

  it.each([
    ['array', [{ id: 'a' }, { id: 'b' }]],
    ['number', 7],
    ['no-value', null],
    ['plain-array', [1]],
  ])('a value that is no object is structured for a modern client, text for a legacy one: %s', async (name, value) => {
    const reply = await client.callTool(name);
    expect(JSON.parse(textOf(reply))).toEqual(value);
    if (era === 'modern') expect(reply.response?.result?.structuredContent).toEqual(value);
    else expect(reply.response?.result).not.toHaveProperty('structuredContent');
  });

  it.each(['array-in-full', 'no-schema'])('so is one in a full result: %s', async (name) => {
    const { response } = await client.callTool(name);
    if (era === 'modern') expect(Array.isArray(response?.result?.structuredContent)).toBe(true);
    else expect(response?.result).not.toHaveProperty('structuredContent');
    expect(response?.result?.content).toHaveLength(1);
  });

  it('a legacy client is not shown a schema that its results cannot follow', async () => {
    const tools = (await client.request('tools/list')).response?.result?.tools as {
      name: string;
      outputSchema?: object;
    }[];
    const shown = tools.filter(({ outputSchema }) => outputSchema !== undefined).map(({ name }) => name);
    const others = ['array', 'array-in-full', 'number', 'no-value', 'plain-array'];
    expect(shown).toContain('value');
    expect(shown.filter((name) => others.includes(name))).toEqual(era === 'modern' ? others : []);
  });
});

describe.each(revisions)('in %s', (revision) => {
  it.each(['value', 'full', 'array', 'array-in-full', 'no-schema'])(
    'structured content is only what the revision knows: %s',
    async (name) => {
      const client = await join(createServer(registerWeather), { revision });
      try {
        const { result } = await client.callTool(name);
        const isObject = name === 'value' || name === 'full';
        const since = isObject ? '2025-06-18' : '2026-07-28';
        expect('structuredContent' in result!).toBe(revision >= since);
      } finally {
        client.close();
      }
    },
  );
});
