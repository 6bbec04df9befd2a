/** What a call holds while it waits for an answer, and lets go of when that has come, or cannot come any more. */
import { getEventListeners } from 'node:events';
import { allow, elicit, ToolError } from 'express-mcp';
import type { Context, McpServer, McpServerOptions, ToolQuestion } from 'express-mcp';
import * as z from 'zod';
import { eventually } from '../support/eventually';
import { join, textOfMessage } from '../support/memory';
import type { MemoryClient, MemoryOptions } from '../support/memory';
import { createPolicy, denialIn, forms, yes } from '../support/questions';
import { createServer } from '../support/serve';
import { watchTimers } from '../support/timers';

const policy = createPolicy<ToolQuestion>();
const ran: string[] = [];
/** Contexts of the calls of "later", to ask with when they are over. */
const contexts: Context[] = [];
beforeEach(() => {
  policy.decide = ({ operation }) => (operation === 'call' ? elicit('Sure?') : allow());
  policy.taken();
  ran.splice(0);
  contexts.splice(0);
});

function register(server: McpServer): void {
  server.registerTool('run', {}, () => {
    ran.push('run');
    return 'ran';
  });
  server.registerTool('later', { timeoutMs: 20 }, async (_args, context) => {
    contexts.push(context);
    await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
  });
  server.registerTool('quick', {}, (_args, context) => {
    contexts.push(context);
    return 'done';
  });
}

const start = (options: McpServerOptions = {}) =>
  createServer(register, { server: { authorizer: policy.hook, ...options } });
const connectTo = (server: McpServer, options: MemoryOptions = {}) => join(server, { capabilities: forms, ...options });
const question = (client: MemoryClient) => client.find(({ method }) => method === 'elicitation/create');
const reply = (client: MemoryClient, id: unknown, result: object) => client.send({ jsonrpc: '2.0', id, result });

describe('a parked call', () => {
  it.each([
    ['a yes', async (client: MemoryClient, id: unknown) => reply(client, id, yes)],
    ['a no', async (client: MemoryClient, id: unknown) => reply(client, id, { action: 'decline' })],
    [
      'an error',
      async (client: MemoryClient, id: unknown) => client.send({ jsonrpc: '2.0', id, error: { code: 1, message: '' } }),
    ],
    [
      'a cancellation',
      async (client: MemoryClient) => client.notify('notifications/cancelled', { requestId: 'parked' }),
    ],
    ['the end of the connection', async (client: MemoryClient) => client.close()],
    ['silence', async () => undefined],
  ])('leaves neither timer nor listener after %s', async (what, end) => {
    const timers = watchTimers();
    try {
      // A limit that nothing else has.
      const limit = what === 'silence' ? 37 : 12_321;
      const client = await connectTo(start({ elicitationTimeoutMs: limit }));
      const call = client.callTool('run', {}, { id: 'parked', meta: { progressToken: 'p' } }).catch(() => undefined);
      const { id } = await question(client);
      const { signal } = policy.asked.at(-1)!.context;
      expect(timers.pending()).toEqual(expect.arrayContaining([limit, 5_000]));
      expect(getEventListeners(signal, 'abort')).toHaveLength(1);
      await end(client, id);
      await call;
      expect(timers.pending().filter((ms) => ms === limit || ms === 5_000)).toEqual([]);
      expect(getEventListeners(signal, 'abort')).toHaveLength(0);
      expect(ran).toEqual(what === 'a yes' ? ['run'] : []);
      // Later answers find nothing.
      await reply(client, id, yes);
      expect(ran).toEqual(what === 'a yes' ? ['run'] : []);
      client.close();
    } finally {
      timers.restore();
    }
  });

  // https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress
  it('shows every five seconds that it lives, to a client that wants progress', async () => {
    jest.useFakeTimers({ doNotFake: ['Date', 'nextTick', 'queueMicrotask', 'setImmediate', 'performance'] });
    try {
      const client = await connectTo(start());
      const call = client.callTool('run', {}, { meta: { progressToken: 'p' } });
      const { id } = await question(client);
      const progress = () => client.heard.filter(({ method }) => method === 'notifications/progress');
      expect(progress()).toEqual([]);
      await jest.advanceTimersByTimeAsync(15_000);
      const values = progress().map(({ params }) => params?.progress as number);
      expect(values).toHaveLength(3);
      expect(values).toEqual([...new Set(values)].sort((a, b) => a - b));
      expect(progress()[0]?.params).toMatchObject({ progressToken: 'p', message: expect.any(String) });
      await reply(client, id, yes);
      await call;
      await jest.advanceTimersByTimeAsync(15_000);
      expect(progress()).toHaveLength(3);
      client.close();
    } finally {
      jest.useRealTimers();
    }
  });

  it('shows so even after large steps of the handler', async () => {
    policy.decide = () => allow();
    const server = createServer((made) =>
      made.registerTool('far', {}, async (_args, context) => {
        for (const step of [-1e15, 1e15]) {
          context.progress(step);
          await context.elicit(`${step}`, { message: 'Go on?', schema: z.object({}) });
        }
      }),
    );
    jest.useFakeTimers({ doNotFake: ['Date', 'nextTick', 'queueMicrotask', 'setImmediate', 'performance'] });
    try {
      const client = await connectTo(server);
      const call = client.callTool('far', {}, { meta: { progressToken: 'p' } });
      const progress = () => client.heard.filter(({ method }) => method === 'notifications/progress');
      for (const signs of [2, 4]) {
        const { id } = await question(client);
        await jest.advanceTimersByTimeAsync(5_000);
        expect(progress()).toHaveLength(signs);
        await reply(client, id, { action: 'accept', content: {} });
      }
      await call;
      client.close();
    } finally {
      jest.useRealTimers();
    }
  });

  it('shows nothing to a client that wants no progress', async () => {
    jest.useFakeTimers({ doNotFake: ['Date', 'nextTick', 'queueMicrotask', 'setImmediate', 'performance'] });
    try {
      const client = await connectTo(start({ elicitationTimeoutMs: 60_000 }));
      const call = client.callTool('run');
      await question(client);
      await jest.advanceTimersByTimeAsync(59_999);
      expect(client.heard).toHaveLength(1);
      await jest.advanceTimersByTimeAsync(1);
      expect(denialIn(await call)).toMatchObject({ code: 'authorization_denied' });
      client.close();
    } finally {
      jest.useRealTimers();
    }
  });

  it('has sixty seconds by default', async () => {
    jest.useFakeTimers({ doNotFake: ['Date', 'nextTick', 'queueMicrotask', 'setImmediate', 'performance'] });
    try {
      const client = await connectTo(start());
      let over = false;
      const call = client.callTool('run').finally(() => (over = true));
      await question(client);
      await jest.advanceTimersByTimeAsync(59_999);
      expect(over).toBe(false);
      await jest.advanceTimersByTimeAsync(1);
      await call;
      expect(client.heard.at(-1)?.method).toBe('notifications/cancelled');
      client.close();
    } finally {
      jest.useRealTimers();
    }
  });

  it('has a place among sixteen of its connection', async () => {
    const server = start();
    const client = await connectTo(server);
    const other = await connectTo(server);
    const park = (by: MemoryClient) => by.callTool('run').catch(() => undefined);
    const calls = Array.from({ length: 16 }, () => park(client));
    await eventually(() => client.heard.length === 16);
    expect(denialIn(await client.callTool('run'))).toMatchObject({ code: 'authorization_denied' });
    calls.push(park(other));
    await question(other);
    await reply(client, client.heard[0]?.id, { action: 'decline' });
    await calls[0];
    calls.push(park(client));
    await eventually(() => client.heard.length === 17);
    client.close();
    other.close();
    await Promise.all(calls);
    expect(ran).toEqual([]);
  });
});

describe('a question that comes too late', () => {
  const schema = z.object({});
  const asked = (context: Context) =>
    context.elicit('late', { message: 'Sure?', schema }).then(
      () => 'answered',
      (error: unknown) => error,
    );

  it('is not put once the call has its answer', async () => {
    policy.decide = () => allow();
    const client = await connectTo(start());
    expect(textOfMessage(await client.callTool('quick'))).toBe('done');
    expect(await asked(contexts[0]!)).toBeInstanceOf(ToolError);
    expect(client.heard).toEqual([]);
    client.close();
  });

  it('is not put once the time limit of the tool has passed', async () => {
    policy.decide = () => allow();
    const client = await connectTo(start());
    expect((await client.callTool('later')).result?.isError).toBe(true);
    expect(await asked(contexts[0]!)).toBeInstanceOf(ToolError);
    expect(client.heard).toEqual([]);
    client.close();
  });
});

describe('waiting for the human', () => {
  it('is not counted as the tool’s time', async () => {
    const server = createServer((made) => made.registerTool('fast', { timeoutMs: 30 }, () => 'fast enough'), {
      server: { authorizer: policy.hook },
    });
    const client = await connectTo(server);
    const call = client.callTool('fast');
    const { id } = await question(client);
    await new Promise((resolve) => setTimeout(resolve, 60));
    await reply(client, id, yes);
    expect(textOfMessage(await call)).toBe('fast enough');
    client.close();
  });
});
