/** Names that are not there, among them those that every object inherits. */
import { allow } from 'express-mcp';
import type { Authorizer, ReadAuthorizer } from 'express-mcp';
import * as z from 'zod';
import { connect, eras } from '../support/eras';
import type { EraClient } from '../support/eras';
import { serve } from '../support/serve';
import type { Served } from '../support/serve';
import { textOf } from '../support/wire';

/** What the authorizers were asked to decide about, apart from what lists show. */
const asked: unknown[] = [];
const ran: string[] = [];
const authorizer: Authorizer = ({ operation, name, definition }) => {
  if (operation === 'call') asked.push({ name, definition: definition.name });
  return allow();
};
const readAuthorizer: ReadAuthorizer = ({ operation, name, definition }) => {
  if (operation === 'call') asked.push({ name, definition: definition.name });
  return allow();
};

let served: Served;
beforeAll(async () => {
  served = await serve(
    (server) => {
      const run = (name: string) => () => {
        ran.push(name);
        return name;
      };
      server.registerTool('echo', {}, run('echo'));
      server.registerTool('__proto__', { description: 'Just a name' }, run('__proto__'));
      const argsSchema = z.object({ topic: z.string().optional() });
      server.registerPrompt('greet', { argsSchema, complete: { topic: () => ['a'] } }, run('greet'));
      server.registerPrompt('__proto__', {}, run('__proto__'));
      server.registerResource('one', 'test://one', {}, run('one'));
      server.registerResource('many', 'test://{id}/x', { complete: { id: () => ['a'] } }, run('many'));
    },
    { server: { authorizer, readAuthorizer } },
  );
});
afterAll(() => served.close());
beforeEach(() => {
  asked.splice(0);
  ran.splice(0);
});

const inherited = ['constructor', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__', 'prototype'];

describe.each(eras)('%s era', (era) => {
  let client: EraClient;
  beforeAll(async () => {
    client = await connect(era, served);
  });

  describe('a tool that does not exist', () => {
    it.each(['nope', 'ECHO', ' echo', 'echo ', 'é', 'x'.repeat(10_000), ...inherited])(
      'is named to the model in a result, or is -32602: %s',
      async (name) => {
        const reply = await client.callTool(name, {});
        expect(reply.status).toBe(200);
        const message = era === 'legacy' ? textOf(reply) : reply.response?.error?.message;
        expect(message).toContain(name.slice(0, 128));
        expect(message?.length).toBeLessThan(200);
        if (era === 'legacy') expect(reply.response?.result).toMatchObject({ isError: true });
        // https://modelcontextprotocol.io/specification/2026-07-28/server/tools#error-handling
        else expect(reply.response?.error?.code).toBe(-32602);
        expect(asked).toEqual([]);
        expect(ran).toEqual([]);
      },
    );
  });

  it.each([5, 0, '', null, undefined, {}, ['echo'], true])(
    'a name that is no string, or empty, is -32602: %j',
    async (name) => {
      const reply = await client.request('tools/call', { name, arguments: {} }, { headers: nameless(name) });
      expect(reply.response?.error?.code).toBe(-32602);
      expect([200, 400]).toContain(reply.status);
      expect(ran).toEqual([]);
    },
  );

  it.each([...inherited, 'nope', 'GREET'])('an unknown prompt is -32602: %s', async (name) => {
    const reply = await client.request('prompts/get', { name });
    expect(reply.response?.error).toMatchObject({ code: -32602, message: expect.stringContaining(name) });
    expect(asked).toEqual([]);
  });

  it.each([...inherited, 'nope'])('there is nothing to complete for what does not exist: %s', async (name) => {
    const argument = { name: 'topic', value: '' };
    for (const params of [
      { ref: { type: 'ref/prompt', name }, argument },
      { ref: { type: 'ref/resource', uri: name }, argument },
      { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name, value: '' } },
      { ref: { type: 'ref/resource', uri: 'test://{id}/x' }, argument: { name, value: '' } },
      { ref: { type: name, name: 'greet' }, argument },
    ]) {
      expect((await client.request('completion/complete', params)).response?.error?.code).toBe(-32602);
    }
    expect(ran).toEqual([]);
  });

  it.each([...inherited, '__proto__'])('a resource is not found by a name that objects inherit: %s', async (uri) => {
    const reply = await client.request('resources/read', { uri });
    expect(reply.response?.error?.code).toBe(era === 'legacy' ? -32002 : -32602);
    expect(asked).toEqual([]);
  });

  it('a tool may be called __proto__: it is listed, asked about by its own definition, and runs', async () => {
    const list = await client.request('tools/list');
    expect(list.response?.result?.tools).toEqual([
      expect.objectContaining({ name: 'echo' }),
      expect.objectContaining({ name: '__proto__', description: 'Just a name' }),
    ]);
    expect(textOf(await client.callTool('__proto__'))).toBe('__proto__');
    expect(asked).toEqual([{ name: '__proto__', definition: '__proto__' }]);
  });

  it('and so may a prompt', async () => {
    expect((await client.request('prompts/get', { name: '__proto__' })).response?.result).toHaveProperty('messages');
    expect(ran).toEqual(['__proto__']);
  });
});

/** The mirrored header of a name that cannot be mirrored: as it would be, or none. */
function nameless(name: unknown): Record<string, string | undefined> {
  return { 'Mcp-Name': typeof name === 'string' ? name : undefined };
}
