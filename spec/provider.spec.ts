/** `provideTools`: a set of tools that is computed per caller. */
import { ToolError } from 'express-mcp';
import type { Context, McpServer, ProvidedTool, ToolProvider } from 'express-mcp';
import * as z from 'zod';
import { connect, eras } from './support/eras';
import { join, textOfMessage } from './support/memory';
import type { MemoryClient } from './support/memory';
import { createServer, serve } from './support/serve';
import { textOf } from './support/wire';

const called: unknown[] = [];
beforeEach(() => called.splice(0));

function provide(listTools: ToolProvider['listTools'], callTool?: ToolProvider['callTool']): ToolProvider {
  return {
    listTools,
    callTool:
      callTool ??
      ((name, args) => {
        called.push({ name, args });
        return `provided ${name}`;
      }),
  };
}

const clients: MemoryClient[] = [];
afterEach(() => clients.splice(0).forEach((client) => client.close()));
async function clientOf(server: McpServer, principal?: string): Promise<MemoryClient> {
  const client = await join(server, { connection: { principal } });
  clients.push(client);
  return client;
}

const namesOf = async (client: MemoryClient) =>
  ((await client.request('tools/list')).result?.tools as { name: string }[]).map(({ name }) => name);

describe.each(eras)('a provided tool in the %s era, over HTTP', (era) => {
  it('is listed, checked and called', async () => {
    const inputSchema = z.object({ n: z.number().default(1) });
    const served = await serve((server) => {
      server.provideTools(
        provide(
          () => [{ name: 'double', title: 'Double', inputSchema }],
          (_name, { n }) => String(Number(n) * 2),
        ),
      );
    });
    try {
      const client = await connect(era, served);
      const { response } = await client.request('tools/list');
      expect(response?.result?.tools).toEqual([
        { name: 'double', title: 'Double', inputSchema: expect.objectContaining({ type: 'object' }) },
      ]);
      expect(textOf(await client.callTool('double', { n: 4 }))).toBe('8');
      expect(textOf(await client.callTool('double'))).toBe('2');
      const refused = await client.callTool('double', { n: 'four' });
      expect(refused.response?.result).toMatchObject({ isError: true });
      expect(textOf(refused)).toMatch(/^Invalid arguments for tool double:\nn: /);
    } finally {
      await served.close();
    }
  });
});

describe('the set', () => {
  it('is its caller’s: listed and called by the same measure', async () => {
    const server = createServer((s) => {
      s.provideTools(provide(async ({ principal }) => [{ name: `of-${principal}` }]));
    });
    for (const [principal, other] of [
      ['alice', 'bob'],
      ['bob', 'alice'],
    ]) {
      const client = await clientOf(server, principal);
      expect(await namesOf(client)).toEqual([`of-${principal}`]);
      expect(textOfMessage(await client.callTool(`of-${principal}`))).toBe(`provided of-${principal}`);
      expect((await client.callTool(`of-${other}`)).result).toMatchObject({ isError: true });
    }
    expect(called).toHaveLength(2);
  });

  it('may change from call to call', async () => {
    let tools: ProvidedTool[] = [{ name: 'a' }];
    const server = createServer((s) => {
      s.provideTools(provide(() => tools));
    });
    const client = await clientOf(server);
    expect(await namesOf(client)).toEqual(['a']);
    tools = [{ name: 'b' }];
    expect(await namesOf(client)).toEqual(['b']);
    expect((await client.callTool('a')).result?.isError).toBe(true);
    expect(textOfMessage(await client.callTool('b'))).toBe('provided b');
  });

  it('comes after the registered tools, which go first where names meet', async () => {
    const server = createServer((s) => {
      s.provideTools(provide(() => [{ name: 'b', title: 'Provided' }, { name: 'c' }]));
      s.registerTool('a', {}, () => 'registered a');
      s.registerTool('b', { title: 'Registered' }, () => 'registered b');
    });
    const client = await clientOf(server);
    expect(await namesOf(client)).toEqual(['a', 'b', 'c']);
    expect(textOfMessage(await client.callTool('b'))).toBe('registered b');
    expect(called).toEqual([]);
  });

  it('has each name once: the first', async () => {
    const server = createServer((s) => {
      s.provideTools(
        provide(() => [
          { name: 'a', title: 'First' },
          { name: 'a', title: 'Second' },
        ]),
      );
    });
    const client = await clientOf(server);
    expect((await client.request('tools/list')).result?.tools).toEqual([
      expect.objectContaining({ name: 'a', title: 'First' }),
    ]);
  });

  it('is paged like any other', async () => {
    const server = createServer(
      (s) => {
        s.registerTool('a', {}, () => '');
        s.provideTools(provide(() => ['b', 'c'].map((name) => ({ name }))));
      },
      { server: { pageSize: 2 } },
    );
    const client = await clientOf(server);
    const { result } = await client.request('tools/list');
    expect(result?.tools).toHaveLength(2);
    const rest = await client.request('tools/list', { cursor: result?.nextCursor });
    expect(rest.result?.tools).toEqual([expect.objectContaining({ name: 'c' })]);
  });

  it('is gone with its provider, and another may take its place', async () => {
    const server = createServer();
    const first = server.provideTools(provide(() => [{ name: 'a' }]));
    expect(() => server.provideTools(provide(() => []))).toThrow(
      new TypeError('provideTools(provider): there is a provider already; remove it first'),
    );
    first.remove();
    server.provideTools(provide(() => [{ name: 'b' }]));
    first.remove();
    expect(await namesOf(await clientOf(server))).toEqual(['b']);
  });
});

describe('a tool that cannot be made ready', () => {
  const good = { name: 'good' };
  it.each<[string, unknown, RegExp]>([
    ['a name that no client accepts', { name: 'not a name' }, /^tool name "not a name": must be/],
    ['no name', {}, /^tool name undefined: must be/],
    [
      'a schema that cannot be expressed',
      { name: 'bad', inputSchema: z.object({ at: z.date() }) },
      /^tool "bad": .* at "at"/,
    ],
    ['fields for a schema', { name: 'bad', inputSchema: { a: z.string() } }, /^tool "bad": got the fields of a schema/],
    ['nothing', null, /./],
  ])('because of %s takes no other with it, and onError hears of it', async (_what, bad, message) => {
    const errors: Error[] = [];
    const server = createServer(undefined, { errors });
    server.provideTools(provide(() => [bad as ProvidedTool, good]));
    const client = await clientOf(server);
    expect(await namesOf(client)).toEqual(['good']);
    expect(errors).toEqual([expect.objectContaining({ message: expect.stringMatching(message) })]);
    expect(textOfMessage(await client.callTool('good'))).toBe('provided good');
    expect((await client.callTool('bad')).result).toMatchObject({ isError: true });
  });
});

describe('a provider that fails', () => {
  const failure = new Error('database down');
  it.each([
    [
      'throws',
      () => {
        throw failure;
      },
    ],
    ['rejects', () => Promise.reject(failure)],
  ])('when it lists: it %s, and the caller learns nothing of it', async (_how, listTools) => {
    const errors: unknown[] = [];
    const server = createServer((s) => s.registerTool('a', {}, () => 'registered'), { errors });
    server.provideTools(provide(listTools));
    const client = await clientOf(server);
    expect((await client.request('tools/list')).error).toEqual({ code: -32603, message: 'Internal error' });
    expect((await client.callTool('b')).error).toEqual({ code: -32603, message: 'Internal error' });
    expect(errors).toEqual([failure, failure]);
    expect(textOfMessage(await client.callTool('a'))).toBe('registered');
  });

  it('when it is called, fails as a tool does', async () => {
    const errors: unknown[] = [];
    const server = createServer(undefined, { errors });
    const fails = (name: string) => {
      throw name === 'a' ? failure : new ToolError('no such row');
    };
    server.provideTools(provide(() => [{ name: 'a' }, { name: 'b' }], fails));
    const client = await clientOf(server);
    expect((await client.callTool('a')).error).toEqual({ code: -32603, message: 'Internal error' });
    expect((await client.callTool('b')).result).toMatchObject({ isError: true, content: [{ text: 'no such row' }] });
    expect(errors).toEqual([failure]);
  });
});

describe('what a provided tool may return', () => {
  const outputSchema = z.object({ n: z.number() });
  const returned: Record<string, unknown> = {
    text: 'x',
    content: [{ type: 'text', text: 'x' }],
    value: { n: 1 },
    wrong: { n: 'x' },
  };
  const server = createServer((s) => {
    s.provideTools(
      provide(
        () => [{ name: 'text' }, { name: 'content' }, { name: 'value', outputSchema }, { name: 'wrong', outputSchema }],
        (name) => returned[name],
      ),
    );
  });

  it('is what a registered one may', async () => {
    const client = await clientOf(server);
    expect(textOfMessage(await client.callTool('text'))).toBe('x');
    expect(textOfMessage(await client.callTool('content'))).toBe('x');
    expect((await client.callTool('value')).result).toMatchObject({ structuredContent: { n: 1 } });
    expect((await client.callTool('wrong')).error?.code).toBe(-32603);
  });
});

describe('what a provider is told', () => {
  it('is who asks, and by which method', async () => {
    const seen: unknown[] = [];
    const note = ({ principal, method, era }: Context) => void seen.push({ principal, method, era });
    const server = createServer((s) => {
      s.provideTools({
        listTools: (context) => {
          note(context);
          return [{ name: 'a' }];
        },
        callTool: (_name, _args, context) => note(context),
      });
    });
    const client = await clientOf(server, 'alice');
    await client.request('tools/list');
    await client.callTool('a');
    const alice = { principal: 'alice', era: 'legacy' };
    expect(seen).toEqual([
      { ...alice, method: 'tools/list' },
      { ...alice, method: 'tools/call' },
      { ...alice, method: 'tools/call' },
    ]);
  });
});

describe('a sensitive tool', () => {
  it.each([{ annotations: { destructiveHint: true } }, { sensitive: true }])(
    'is not run while nobody has decided who may: %j',
    async (config) => {
      const server = createServer(
        (s) => {
          s.provideTools(provide(() => [{ name: 'destroy', ...config }, { name: 'look' }]));
        },
        { server: { authorizer: undefined } },
      );
      const client = await clientOf(server);
      expect((await client.callTool('destroy')).result).toMatchObject({ isError: true });
      expect(textOfMessage(await client.callTool('look'))).toBe('provided look');
      expect(called).toEqual([{ name: 'look', args: {} }]);
    },
  );
});

describe('a schema', () => {
  it('is made ready once for as long as the provider gives the same tool', async () => {
    let made = 0;
    const standard = z.object({})['~standard'];
    const jsonSchema = {
      input: () => {
        made += 1;
        return { type: 'object' };
      },
      output: () => ({}),
    };
    const tool: ProvidedTool = { name: 'a', inputSchema: { '~standard': { ...standard, jsonSchema } } };
    const server = createServer((s) => {
      s.provideTools(provide(() => [tool]));
    });
    const client = await clientOf(server);
    for (let n = 0; n < 3; n += 1) await client.request('tools/list');
    await client.callTool('a');
    expect(made).toBe(1);
  });
});
