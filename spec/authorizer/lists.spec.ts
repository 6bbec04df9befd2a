/** Lists show what their caller may use; each entry is asked about once, and nobody else may keep the answer. */
import { allow, allowAll, deny, elicit } from 'express-mcp';
import type { McpRouterOptions, McpServer, McpServerOptions, ReadQuestion, ToolQuestion } from 'express-mcp';
import { createPolicy } from '../support/questions';
import { serve } from '../support/serve';
import type { Served } from '../support/serve';
import { connect, eras } from '../support/eras';
import { modern } from '../support/wire';
import type { Reply } from '../support/wire';

const tools = createPolicy<ToolQuestion>();
const reads = createPolicy<ReadQuestion>();
const served: Served[] = [];
beforeEach(() => {
  tools.decide = reads.decide = () => allow();
  tools.taken();
  reads.taken();
});
afterEach(async () => {
  await Promise.all(served.splice(0).map((one) => one.close()));
});

const letters = ['a', 'b', 'c', 'd', 'e'];

function register(server: McpServer): void {
  for (const name of letters) {
    server.registerTool(name, { description: `Tool ${name}` }, () => name);
    server.registerPrompt(name, { description: `Prompt ${name}` }, () => name);
    server.registerResource(name, `file:///${name}`, {}, () => name);
    server.registerResource(name, `${name}://{id}`, {}, () => name);
  }
}

async function start(options: McpServerOptions = {}, setup = register, router?: McpRouterOptions): Promise<Served> {
  const server = { authorizer: tools.hook, readAuthorizer: reads.hook, ...options };
  const made = await serve(setup, { server, router });
  served.push(made);
  return made;
}

const namesIn = ({ response }: Reply, key: string) =>
  (response?.result?.[key] as { name: string }[]).map(({ name }) => name);

describe.each(eras)('%s era', (era) => {
  describe.each([
    ['tools/list', 'tools', tools, 'tool'],
    ['prompts/list', 'prompts', reads, 'prompt'],
    ['resources/list', 'resources', reads, 'resource'],
    ['resources/templates/list', 'resourceTemplates', reads, 'resourceTemplate'],
  ] as const)('%s', (method, key, policy, kind) => {
    it('shows what is allowed or asked about, and hides what is denied', async () => {
      policy.decide = ({ operation, name }: { operation: string; name: string }) => {
        if (operation !== 'list') throw new Error('not a list');
        return name === 'b' || name === 'd' ? deny('no') : name === 'c' ? elicit('Sure?') : allow();
      };
      const client = await connect(era, await start());
      expect(namesIn(await client.request(method), key)).toEqual(['a', 'c', 'e']);
    });

    it('asks about each entry once', async () => {
      const client = await connect(era, await start());
      policy.taken();
      await client.request(method);
      expect(policy.taken()).toEqual(letters.map((name) => `list ${name}`));
      await client.request(method);
      expect(policy.asked).toHaveLength(letters.length);
      for (const { call, context } of policy.asked) {
        expect(call).toMatchObject({ operation: 'list', kind, definition: { name: call.name } });
        expect(call).not.toHaveProperty('arguments');
        expect(context.method).toBe(method);
      }
      expect([tools, reads].filter(({ asked }) => asked.length > 0)).toEqual([policy]);
    });

    it('has pages of what is shown, which tell nothing of what is not', async () => {
      policy.decide = ({ name }: { name: string }) => (name === 'b' || name === 'd' ? deny('no') : allow());
      const client = await connect(era, await start({ pageSize: 2 }));
      const first = await client.request(method);
      expect(namesIn(first, key)).toEqual(['a', 'c']);
      policy.taken();
      const second = await client.request(method, { cursor: first.response?.result?.nextCursor });
      expect(namesIn(second, key)).toEqual(['e']);
      expect(second.response?.result).not.toHaveProperty('nextCursor');
      expect(policy.taken()).toHaveLength(letters.length);
      // The same cursor where that is the end.
      policy.decide = ({ name }: { name: string }) => (name === 'a' ? allow() : deny('no'));
      const beyond = await client.request(method, { cursor: first.response?.result?.nextCursor });
      expect(beyond.response?.error?.code).toBe(-32602);
    });

    it('hides what the authorizer fails about, and reports each once', async () => {
      policy.decide = ({ name }: { name: string }) => {
        if (name === 'b') throw new Error('down');
        return name === 'd' ? (undefined as never) : allow();
      };
      const one = await start();
      const client = await connect(era, one);
      expect(namesIn(await client.request(method), key)).toEqual(['a', 'c', 'e']);
      expect(one.errors.map(String)).toEqual([
        expect.stringMatching(new RegExp(`listing ${kind} "b".*down`)),
        expect.stringMatching(new RegExp(`listing ${kind} "d"`)),
      ]);
    });

    it('hides what the authorizer takes too long about, all at the same time', async () => {
      policy.decide = ({ name }: { name: string }) => (name === 'a' ? allow() : new Promise<never>(() => undefined));
      // How many had been asked about when the first was given up.
      const askedAtError: number[] = [];
      const onError = () => void askedAtError.push(policy.asked.length);
      const client = await connect(era, await start({ authorizerTimeoutMs: 50 }, register, { onError }));
      expect(namesIn(await client.request(method), key)).toEqual(['a']);
      expect(askedAtError).toEqual([5, 5, 5, 5]);
    });

    it('is another for another caller', async () => {
      const one = await start();
      policy.decide = (_call: unknown, { principal }: { principal?: string }) =>
        principal === 'bob' ? deny('no') : allow();
      for (const [principal, count] of [
        ['alice', 5],
        ['bob', 0],
      ] as const) {
        const connection = { principal };
        const message = { jsonrpc: '2.0', id: 1, method, params: {} };
        const response = (await one.server.handleMessage(message, connection)) as { result: Record<string, unknown[]> };
        expect(response.result[key]).toHaveLength(count);
      }
    });
  });
});

describe('the instances that a template lists', () => {
  it('go by the name of the template, as their reading does', async () => {
    reads.decide = ({ name }) => (name === 'secret' ? deny('no') : allow());
    const one = await start({}, (server) => {
      for (const name of ['open', 'secret'])
        server.registerResource(
          name,
          `${name}://{id}`,
          { list: () => [{ uri: `${name}://1`, name: 'one' }] },
          () => name,
        );
    });
    const client = modern(one);
    expect((await client.request('resources/list')).response?.result?.resources).toEqual([
      { uri: 'open://1', name: 'one' },
    ]);
    expect((await client.request('resources/read', { uri: 'secret://1' })).response?.error?.code).toBe(-32602);
    expect((await client.request('resources/read', { uri: 'open://1' })).response?.result?.contents).toEqual([
      { uri: 'open://1', text: 'open' },
    ]);
  });
});

// https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
describe('the scope in which an answer may be kept', () => {
  const methods = {
    tools: 'tools/list',
    prompts: 'prompts/list',
    resources: 'resources/list',
    resourceTemplates: 'resources/templates/list',
  } as const;

  async function scopes(one: Served): Promise<Record<string, unknown>> {
    const client = modern(one);
    const entries = await Promise.all(
      Object.entries(methods).map(async ([what, method]) => {
        const { response } = await client.request(method);
        return [what, response?.result?.cacheScope] as const;
      }),
    );
    const read = await client.request('resources/read', { uri: 'file:///a' });
    const discover = await client.request('server/discover');
    return {
      ...Object.fromEntries(entries),
      read: read.response?.result?.cacheScope,
      discover: discover.response?.result?.cacheScope,
    };
  }

  const everybody = {
    tools: 'public',
    prompts: 'public',
    resources: 'public',
    resourceTemplates: 'public',
    read: 'private',
    discover: 'public',
  };

  it('is everybody’s where everybody gets the same', async () => {
    expect(await scopes(await start({ authorizer: allowAll, readAuthorizer: allowAll }))).toEqual(everybody);
    expect(await scopes(await start({ authorizer: undefined, readAuthorizer: undefined }))).toEqual(everybody);
  });

  it('is the caller’s where an authorizer could decide otherwise for another', async () => {
    expect(await scopes(await start({ readAuthorizer: allowAll }))).toEqual({ ...everybody, tools: 'private' });
    expect(await scopes(await start({ authorizer: allowAll }))).toEqual({
      ...everybody,
      prompts: 'private',
      resources: 'private',
      resourceTemplates: 'private',
    });
    expect(
      await scopes(await start({ authorizer: allow, readAuthorizer: allowAll, authorizerSource: 'default' })),
    ).toEqual({
      ...everybody,
      tools: 'private',
    });
  });

  it('is the caller’s where the author has said otherwise, and an authorizer could decide', async () => {
    const keep = { ttlMs: 1_000, cacheScope: 'public' } as const;
    const cache = { tools: keep, prompts: keep, resources: keep, resourceTemplates: keep, read: keep };
    const all = {
      tools: 'private',
      prompts: 'private',
      resources: 'private',
      resourceTemplates: 'private',
      read: 'private',
    };
    expect(await scopes(await start({ cache }))).toEqual({ ...all, discover: 'public' });
  });

  it('is the caller’s where a provider or a template computes the list', async () => {
    const one = await start({ authorizer: allowAll, readAuthorizer: allowAll }, (server) => {
      register(server);
      server.provideTools({ listTools: ({ principal }) => [{ name: `of-${principal}` }], callTool: () => '' });
      server.registerResource(
        'mine',
        'mine://{id}',
        { list: ({ principal }) => [{ uri: `mine://${principal}`, name: 'm' }] },
        () => '',
      );
    });
    expect(await scopes(one)).toEqual({ ...everybody, tools: 'private', resources: 'private' });
  });
});
