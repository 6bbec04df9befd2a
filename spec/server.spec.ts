/** What a server is told when it is made: each option has its effect, and its default without it. */
import { allowAll, McpServer } from 'express-mcp';
import type { McpServerOptions } from 'express-mcp';
import * as z from 'zod';
import { connect, eras } from './support/eras';
import { join, textOfMessage } from './support/memory';
import type { MemoryClient } from './support/memory';
import { latestLegacy, modernRevision } from './support/schema';
import { createServer, serve } from './support/serve';
import { textOf } from './support/wire';

const clients: MemoryClient[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
  jest.restoreAllMocks();
});
async function clientOf(server: McpServer, options: Parameters<typeof join>[1] = {}): Promise<MemoryClient> {
  const client = await join(server, options);
  clients.push(client);
  return client;
}

const schema = z.object({ name: z.string() });
const forms = { elicitation: {} };
const secret = (letter: string) => letter.repeat(32);

describe('info and instructions', () => {
  const icons = [{ src: 'https://example.com/a.png' }];
  const info = {
    name: 'weather',
    version: '2.0.0',
    title: 'Weather',
    description: 'Tells',
    websiteUrl: 'https://example.com/',
    icons,
  };

  it.each([latestLegacy, modernRevision] as const)('are what clients are told: %s', async (revision) => {
    for (const instructions of [undefined, 'Ask for a city.']) {
      const server = createServer(undefined, { info: { ...info, instructions } });
      const client = await clientOf(server, { revision });
      const result = client.initializeResult ?? (await client.request('server/discover')).result!;
      const meta = result._meta as Record<string, unknown> | undefined;
      expect(result.serverInfo ?? meta?.['io.modelcontextprotocol/serverInfo']).toEqual(info);
      expect(result.instructions).toBe(instructions);
      expect('instructions' in result).toBe(instructions !== undefined);
    }
  });
});

describe('options', () => {
  it('that are undefined are absent', async () => {
    const names = [
      'authorizer',
      'readAuthorizer',
      'authorizerSource',
      'secrets',
      'exposeErrors',
      'onError',
      'pageSize',
    ];
    const rest = [
      'elicitationTimeoutMs',
      'authorizerTimeoutMs',
      'toolTimeoutMs',
      'cache',
      'extensions',
      'experimental',
    ];
    const options = Object.fromEntries([...names, ...rest].map((name) => [name, undefined]));
    const server = new McpServer({ name: 'x', version: '1' }, options as McpServerOptions);
    server.registerTool('x', {}, () => 'x');
    expect(textOfMessage(await (await clientOf(server)).callTool('x'))).toBe('x');
  });

  it('are read once', async () => {
    const options: McpServerOptions = {
      authorizer: allowAll,
      pageSize: 1,
      exposeErrors: false,
      onError: () => undefined,
    };
    const server = new McpServer({ name: 'x', version: '1' }, options);
    for (const name of ['a', 'b']) server.registerTool(name, {}, () => Promise.reject(new Error('secret')));
    Object.assign(options, {
      pageSize: 100,
      exposeErrors: true,
      authorizer: () => ({ decision: 'deny', reason: 'late' }),
    });
    const client = await clientOf(server);
    expect((await client.request('tools/list')).result?.tools).toHaveLength(1);
    expect((await client.callTool('a')).error).toEqual({ code: -32603, message: 'Internal error' });
  });
});

describe('experimental and extensions', () => {
  // https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning
  it.each([
    'foo',
    '',
    '/foo',
    'com.example/',
    'com..example/a',
    '1com/a',
    'com.-x/a',
    'com.x-/a',
    'a/b/c',
    'a/-b',
    'a/b c',
  ])('an extension is named by a prefix and a name, not by %j', (identifier) => {
    const make = () => createServer(undefined, { server: { extensions: { [identifier]: {} } } });
    expect(make).toThrow(TypeError);
    expect(make).toThrow(JSON.stringify(identifier));
  });

  it('an extension has an object of settings', () => {
    const extensions = { 'com.example/a': 5 as never };
    expect(() => createServer(undefined, { server: { extensions } })).toThrow(TypeError);
  });

  it.each(['io.modelcontextprotocol/ui', 'example/A_b-c.d', 'x-1.y2/0'])('%s names one', (identifier) => {
    expect(() => createServer(undefined, { server: { extensions: { [identifier]: {} } } })).not.toThrow();
  });

  it.each([latestLegacy, modernRevision] as const)('are advertised as they are: %s', async (revision) => {
    const experimental = { 'example.com/x': { a: 1 } };
    const extensions = { 'example.com/y': { b: [2] } };
    const client = await clientOf(createServer(undefined, { server: { experimental, extensions } }), { revision });
    const result = client.initializeResult ?? (await client.request('server/discover')).result!;
    expect(result.capabilities).toEqual({
      logging: {},
      experimental,
      // 2025-11-25 has no extensions.
      ...(revision === modernRevision ? { extensions } : {}),
    });
  });
});

describe('secrets', () => {
  /** A server that counts what it does once, then asks. */
  function counting(secrets?: string[], name = 'counter') {
    let count = 0;
    return createServer(
      (server) =>
        server.registerTool('count', {}, async (_args, context) => {
          const mine = await context.once('count', () => (count += 1));
          await context.elicit('name', { message: 'Who?', schema });
          return `${mine} of ${count}`;
        }),
      { server: { secrets }, info: { name } },
    );
  }
  const options = { revision: modernRevision, capabilities: forms } as const;
  const inputResponses = { name: { action: 'accept', content: { name: 'Ada' } } };

  /** Ask one server, answer another. */
  async function across(asking: McpServer, answering: McpServer): Promise<string | undefined> {
    const { result } = await (await clientOf(asking, options)).callTool('count');
    const again = { name: 'count', inputResponses, requestState: result?.requestState };
    return textOfMessage(await (await clientOf(answering, options)).request('tools/call', again));
  }

  it('let one process open what another has sealed', async () => {
    expect(await across(counting([secret('a')]), counting([secret('a')]))).toBe('1 of 0');
  });

  it('may be changed without losing what is under way: the first seals, all open', async () => {
    expect(await across(counting([secret('a')]), counting([secret('b'), secret('a')]))).toBe('1 of 0');
    expect(await across(counting([secret('b'), secret('a')]), counting([secret('b')]))).toBe('1 of 0');
  });

  it('of others are unknown: what was done is done again', async () => {
    expect(await across(counting([secret('a')]), counting([secret('b')]))).toBe('1 of 1');
    expect(await across(counting([secret('b'), secret('a')]), counting([secret('a')]))).toBe('1 of 1');
  });

  it('are made up where none are given', async () => {
    const server = counting();
    expect(await across(server, server)).toBe('1 of 1');
    expect(await across(counting(), counting([secret('a')]))).toBe('1 of 1');
  });

  it('of two servers are their own, even when they are the same', async () => {
    expect(await across(counting([secret('a')], 'one'), counting([secret('a')], 'two'))).toBe('1 of 1');
  });
});

describe('exposeErrors', () => {
  it.each([
    [undefined, 'Internal error'],
    [false, 'Internal error'],
    [true, 'no such table'],
  ])('%s shows the caller of a failed handler: %s', async (exposeErrors, shown) => {
    const server = createServer(
      (s) => {
        s.registerTool('x', {}, () => Promise.reject(new Error('no such table')));
      },
      { server: { exposeErrors } },
    );
    const { error, result } = await (await clientOf(server)).callTool('x');
    expect(error?.message ?? textOfMessage({ jsonrpc: '2.0', result })).toBe(shown);
  });
});

describe('onError', () => {
  const failure = new Error('database down');
  const failing = (onError: McpServerOptions['onError']) =>
    createServer((server) => server.registerTool('x', {}, () => Promise.reject(failure)), { server: { onError } });

  it('hears of each fault, and of the call it happened in', async () => {
    const heard: unknown[] = [];
    const server = failing((error, context) =>
      heard.push([error, context?.method, context?.requestId, context?.principal]),
    );
    await (await clientOf(server, { connection: { principal: 'alice' } })).callTool('x', {}, { id: 7 });
    expect(heard).toEqual([[failure, 'tools/call', 7, 'alice']]);
  });

  it('is console.error where none is given', async () => {
    const spy = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    await (await clientOf(failing(undefined))).callTool('x');
    expect(spy.mock.calls).toEqual([['express-mcp: tools/call "x":', failure]]);
  });

  it('that fails itself takes no call with it', async () => {
    const spy = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const own = new Error('logger down');
    const client = await clientOf(
      failing(() => {
        throw own;
      }),
    );
    expect((await client.callTool('x')).error).toEqual({ code: -32603, message: 'Internal error' });
    expect(spy.mock.calls).toEqual([['express-mcp:', own]]);
  });
});

describe('elicitationTimeoutMs', () => {
  it('is how long a question waits; then the handler hears that nobody answered', async () => {
    const server = createServer(
      (s) =>
        s.registerTool('ask', {}, async (_args, context) => {
          await context.elicit('name', { message: 'Who?', schema });
        }),
      { server: { elicitationTimeoutMs: 20 } },
    );
    const client = await clientOf(server, { capabilities: forms });
    const { result } = await client.callTool('ask');
    expect(result).toMatchObject({ isError: true, content: [{ text: 'Nobody answered in time' }] });
    const [question, withdrawn] = client.heard;
    expect(withdrawn).toMatchObject({ method: 'notifications/cancelled', params: { requestId: question?.id } });
  });
});

describe('toolTimeoutMs', () => {
  let reason: unknown;
  let late: (() => void) | undefined;
  const register = (server: McpServer): void => {
    const wait = (limit: object) =>
      [
        limit,
        async (_args: unknown, context: { signal: AbortSignal; progress(progress: number): void }) => {
          late = () => context.progress(1);
          await new Promise<void>((resolve) =>
            context.signal.addEventListener('abort', () => {
              reason = context.signal.reason;
              resolve();
            }),
          );
          return 'too late';
        },
      ] as const;
    server.registerTool('server', ...wait({}));
    server.registerTool('own', ...wait({ timeoutMs: 15 }));
    server.registerTool('quick', {}, () => 'quick');
  };
  beforeEach(() => {
    reason = undefined;
  });
  const text = (ms: number) => `The tool did not finish within ${ms} ms`;

  it('is the time a call may take: the signal aborts, the caller reads why', async () => {
    const client = await clientOf(createServer(register, { server: { toolTimeoutMs: 10 } }));
    const { result } = await client.callTool('server', {}, { meta: { progressToken: 1 } });
    expect(result).toEqual({ content: [{ type: 'text', text: text(10) }], isError: true });
    expect(reason).toMatchObject({ message: text(10) });
    late?.();
    expect(client.heard).toEqual([]);
    expect(textOfMessage(await client.callTool('quick'))).toBe('quick');
  });

  it('gives way to the tool’s own', async () => {
    for (const toolTimeoutMs of [5, 60_000]) {
      const client = await clientOf(createServer(register, { server: { toolTimeoutMs } }));
      expect(textOfMessage(await client.callTool('own'))).toBe(text(15));
    }
  });

  it('is none unless the server says so', async () => {
    const client = await clientOf(createServer(register));
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    try {
      let settled = false;
      const call = client.callTool('server', {}, { id: 's' }).finally(() => (settled = true));
      await new Promise(setImmediate);
      jest.advanceTimersByTime(86_400_000);
      await new Promise(setImmediate);
      expect(settled).toBe(false);
      await client.notify('notifications/cancelled', { requestId: 's' });
      await expect(call).rejects.toThrow('was not answered');
    } finally {
      jest.useRealTimers();
    }
  });

  it.each(eras)('gives way to the mount’s, over HTTP: %s era', async (era) => {
    for (const [router, expected] of [
      [{}, 20],
      [{ toolTimeoutMs: 12 }, 12],
    ] as const) {
      const served = await serve(register, { server: { toolTimeoutMs: 20 }, router });
      try {
        const client = await connect(era, served);
        expect(textOf(await client.callTool('server'))).toBe(text(expected));
        expect(textOf(await client.callTool('own'))).toBe(text(15));
      } finally {
        await served.close();
      }
    }
  });
});

describe('an option of the server that makes no sense', () => {
  const create = (options: object) => () => new McpServer({ name: 'x', version: '1' }, options as McpServerOptions);

  it.each([0, -1, 1.5, NaN, Infinity, '5', null])('pageSize %j', (pageSize) => {
    expect(create({ pageSize })).toThrow(RangeError);
    expect(create({ pageSize })).toThrow(/pageSize.*must be a positive integer/);
  });

  it.each(['authorizerTimeoutMs', 'elicitationTimeoutMs', 'toolTimeoutMs'])('%s', (option) => {
    for (const value of [0, -1, 0.5, NaN, Infinity, 2 ** 31, '5', null]) {
      expect(create({ [option]: value })).toThrow(RangeError);
      expect(create({ [option]: value })).toThrow(new RegExp(`^new McpServer\\(…, \\{ ${option} \\}\\): must be`));
    }
    expect(create({ [option]: 2 ** 31 - 1 })).not.toThrow();
    expect(create({ [option]: undefined })).not.toThrow();
  });

  it.each(['tools', 'read', 'discover'])('cache.%s', (what) => {
    expect(create({ cache: { [what]: { ttlMs: -1 } } })).toThrow(RangeError);
    expect(create({ cache: { [what]: { ttlMs: 0.5 } } })).toThrow(
      new RegExp(`\\{ cache: \\{ ${what} \\} \\}\\)\\.ttlMs: must be whole milliseconds from 0 up, got 0\\.5$`),
    );
    expect(create({ cache: { [what]: { cacheScope: 'shared' } } })).toThrow(
      /cacheScope: must be 'public' or 'private', got "shared"$/,
    );
    expect(create({ cache: { [what]: undefined } })).not.toThrow();
  });

  it.each([[['short']], [[]], ['not a list']])('secrets %j', (secrets) => {
    expect(create({ secrets })).toThrow(/secrets/);
  });

  it.each([{}, { name: 'x' }, { version: '1' }, { name: 5, version: '1' }])('info %j', (info) => {
    expect(() => new McpServer(info as never)).toThrow(
      new TypeError('new McpServer(info): info needs a name and a version, both strings'),
    );
  });
});
