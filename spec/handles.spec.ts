/** What registration hands back: changing and taking away, and what callers and lists see of it. */
import type { McpServer } from 'express-mcp';
import * as z from 'zod';
import { join, textOfMessage } from './support/memory';
import type { MemoryClient } from './support/memory';
import { createServer } from './support/serve';

let server: McpServer;
let client: MemoryClient;
beforeEach(async () => {
  server = createServer();
  client = await join(server);
  server.registerTool('before', {}, () => '');
  server.registerPrompt('before', {}, () => '');
  server.registerResource('before', 'x:before', {}, () => '');
  notices();
});
afterEach(() => client.close());

const listed = async (method: string, field: string) =>
  (await client.request(method)).result?.[field] as Record<string, unknown>[];
const tools = () => listed('tools/list', 'tools');
const names = async () => (await tools()).map(({ name }) => name);

/** Notices of changed lists since the last look. */
const notices = () => client.heard.splice(0).map(({ method }) => method);

describe('update of a tool', () => {
  it('changes what is given and keeps the rest', async () => {
    const inputSchema = z.object({ a: z.string() });
    const tool = server.registerTool('x', { title: 'Old', description: 'Kept', inputSchema }, ({ a }) => a);
    tool.update({ title: 'New' });
    expect((await tools())[1]).toMatchObject({
      name: 'x',
      title: 'New',
      description: 'Kept',
      inputSchema: { required: ['a'] },
    });
    expect(textOfMessage(await client.callTool('x', { a: 'still' }))).toBe('still');
    expect(notices()).toContain('notifications/tools/list_changed');
  });

  it('takes undefined for absent', async () => {
    const tool = server.registerTool('x', { title: 'Kept' }, () => 'kept');
    tool.update({ title: undefined, handler: undefined });
    expect((await tools())[1]).toMatchObject({ title: 'Kept' });
    expect(textOfMessage(await client.callTool('x'))).toBe('kept');
  });

  it('changes the handler for the next call, not for one that runs', async () => {
    let go = (): void => undefined;
    const tool = server.registerTool('x', {}, async () => {
      await new Promise<void>((resolve) => (go = resolve));
      return 'old';
    });
    const running = client.callTool('x');
    tool.update({ handler: () => 'new' });
    expect(textOfMessage(await client.callTool('x'))).toBe('new');
    go();
    expect(textOfMessage(await running)).toBe('old');
  });

  it('checks arguments and results by the new schemas', async () => {
    const tool = server.registerTool(
      'x',
      { inputSchema: z.object({ a: z.string() }), outputSchema: z.object({ n: z.number() }) },
      () => ({ n: 1 }),
    );
    tool.update({ inputSchema: z.object({ a: z.string().max(1) }), outputSchema: z.object({ n: z.number().min(2) }) });
    expect((await client.callTool('x', { a: 'too long' })).result?.isError).toBe(true);
    expect((await client.callTool('x', { a: 'y' })).error?.code).toBe(-32603);
  });

  it('keeps its place in the list', async () => {
    const tool = server.registerTool('x', {}, () => '');
    server.registerTool('after', {}, () => '');
    tool.update({ title: 'New' });
    expect(await names()).toEqual(['before', 'x', 'after']);
  });

  it('that makes no sense changes nothing, and nobody is told', async () => {
    const tool = server.registerTool('x', { title: 'Old' }, () => 'old');
    notices();
    expect(() => tool.update({ title: 'New', inputSchema: z.object({ at: z.date() }) as never })).toThrow(
      /^tool "x": /,
    );
    expect(() => tool.update({ title: 'New', timeoutMs: -1 })).toThrow(RangeError);
    expect(() => tool.update({ title: 'New', handler: 'x' as never })).toThrow(TypeError);
    expect(notices()).toEqual([]);
    expect((await tools())[1]).toMatchObject({ title: 'Old' });
    expect(textOfMessage(await client.callTool('x'))).toBe('old');
    tool.update({ title: 'New' });
    expect((await tools())[1]).toMatchObject({ title: 'New' });
  });
});

describe('update of a prompt, a resource, a template', () => {
  it('changes what is given and keeps the rest', async () => {
    const argsSchema = z.object({ a: z.string() });
    const prompt = server.registerPrompt('x', { description: 'Kept', argsSchema }, ({ a }) => a);
    const resource = server.registerResource('x', 'x:1', { description: 'Kept' }, () => 'old');
    const template = server.registerResource('x', 'x:{id}', { description: 'Kept' }, () => 'old');
    prompt.update({ title: 'New', handler: ({ a }) => `new ${a}` });
    resource.update({ title: 'New', handler: () => 'new' });
    template.update({ title: 'New', handler: () => 'new' });
    const about = { name: 'x', title: 'New', description: 'Kept' };
    expect((await listed('prompts/list', 'prompts'))[1]).toMatchObject(about);
    expect((await listed('resources/list', 'resources'))[1]).toMatchObject(about);
    expect(await listed('resources/templates/list', 'resourceTemplates')).toEqual([
      { ...about, uriTemplate: 'x:{id}' },
    ]);
    const got = await client.request('prompts/get', { name: 'x', arguments: { a: 'y' } });
    expect(got.result?.messages).toMatchObject([{ content: { text: 'new y' } }]);
    for (const uri of ['x:1', 'x:2']) {
      const read = await client.request('resources/read', { uri });
      expect(read.result?.contents).toEqual([{ uri, text: 'new' }]);
    }
    expect(new Set(notices())).toEqual(
      new Set(['notifications/prompts/list_changed', 'notifications/resources/list_changed']),
    );
  });

  it('that makes no sense changes nothing', async () => {
    const prompt = server.registerPrompt('x', { title: 'Old' }, () => '');
    const resource = server.registerResource('x', 'x:1', { title: 'Old' }, () => '');
    notices();
    expect(() => prompt.update({ title: 'New', handler: 5 as never })).toThrow(/^prompt "x": /);
    expect(() => prompt.update({ title: 'New', complete: { b: () => [] } })).toThrow(/^prompt "x": /);
    expect(() => resource.update({ title: 'New', handler: 5 as never })).toThrow(/^resource "x": /);
    expect(() => resource.update({ title: 'New', cache: { ttlMs: -1 } })).toThrow(RangeError);
    expect(notices()).toEqual([]);
    expect((await listed('prompts/list', 'prompts'))[1]).toMatchObject({ title: 'Old' });
    expect((await listed('resources/list', 'resources'))[1]).toMatchObject({ title: 'Old' });
  });
});

describe('remove', () => {
  it('takes it out of the list, and a call no longer finds it', async () => {
    const tool = server.registerTool('x', {}, () => '');
    const prompt = server.registerPrompt('x', {}, () => '');
    const resource = server.registerResource('x', 'x:1', {}, () => '');
    const template = server.registerResource('x', 'y:{id}', {}, () => '');
    notices();
    for (const handle of [tool, prompt, resource, template]) handle.remove();
    expect(notices()).toEqual([
      'notifications/tools/list_changed',
      'notifications/prompts/list_changed',
      'notifications/resources/list_changed',
      'notifications/resources/list_changed',
    ]);
    expect(await names()).toEqual(['before']);
    expect((await client.callTool('x')).result).toMatchObject({ isError: true });
    expect((await client.request('prompts/get', { name: 'x' })).error?.code).toBe(-32602);
    expect((await client.request('resources/read', { uri: 'x:1' })).error?.code).toBe(-32002);
    expect((await client.request('resources/read', { uri: 'y:1' })).error?.code).toBe(-32002);
  });

  it('lets a call that runs come to its end', async () => {
    let go = (): void => undefined;
    const tool = server.registerTool('x', {}, async () => {
      await new Promise<void>((resolve) => (go = resolve));
      return 'done';
    });
    const running = client.callTool('x');
    tool.remove();
    go();
    expect(textOfMessage(await running)).toBe('done');
  });

  it('a second time does nothing', () => {
    const tool = server.registerTool('x', {}, () => '');
    tool.remove();
    notices();
    tool.remove();
    expect(notices()).toEqual([]);
  });

  it('does not take away what has the name after it', async () => {
    const first = server.registerTool('x', {}, () => 'first');
    first.remove();
    server.registerTool('x', {}, () => 'second');
    first.remove();
    expect(textOfMessage(await client.callTool('x'))).toBe('second');
  });

  it('is the end of the handle: an update afterwards is refused', () => {
    const handles = {
      'tool "x"': server.registerTool('x', {}, () => ''),
      'prompt "x"': server.registerPrompt('x', {}, () => ''),
      'resource "x:1"': server.registerResource('x', 'x:1', {}, () => ''),
    };
    for (const [what, handle] of Object.entries(handles)) {
      handle.remove();
      expect(() => handle.update({ title: 'New' })).toThrow(new TypeError(`${what} has been removed`));
    }
    server.registerTool('x', {}, () => '');
    expect(() => handles['tool "x"'].update({ title: 'New' })).toThrow('has been removed');
  });

  it('may happen while a list is being made', async () => {
    const asked: string[] = [];
    const slow = createServer((s) => s.registerTool('a', {}, () => ''), {
      server: {
        authorizer: async ({ name }) => {
          asked.push(name);
          if (asked.length === 1) handle.remove();
          return { decision: 'allow' };
        },
      },
    });
    const handle = slow.registerTool('b', {}, () => '');
    const asker = await join(slow);
    const { result } = await asker.request('tools/list');
    expect((result?.tools as { name: string }[]).map(({ name }) => name)).toEqual(['a', 'b']);
    expect((await asker.request('tools/list')).result?.tools).toHaveLength(1);
    asker.close();
  });
});

describe('the name of a handle', () => {
  it('is the one it was registered under', () => {
    expect(server.registerTool('x', {}, () => '').name).toBe('x');
    expect(server.registerPrompt('y', {}, () => '').name).toBe('y');
    expect(server.registerResource('z', 'x:{id}', {}, () => '').name).toBe('z');
  });
});
