/** `context.progress`: only forward, only with a token, only until the answer. */
import type { Context, McpServer } from 'express-mcp';
import { connect, eras } from '../support/eras';
import type { EraClient } from '../support/eras';
import { serve } from '../support/serve';
import type { Served } from '../support/serve';

let kept: Context | undefined;

function registerAll(server: McpServer): void {
  const steps = (values: [number, number?, string?][]) => (_args: unknown, context: Context) => {
    kept = context;
    for (const value of values) context.progress(...value);
    return 'done';
  };
  server.registerTool('forward', {}, steps([[0], [0.5, 2], [1, 2, 'half'], [2, 2]]));
  server.registerTool('back', {}, steps([[1], [1], [0.5], [-1], [2], [1.5]]));
  server.registerTool('odd', {}, steps([[NaN], [1, NaN], [Infinity], [2, Infinity], [-Infinity], ['3' as never], [4]]));
  server.registerTool('negative', {}, steps([[-5], [-4]]));
  const prompt = steps([[1]]);
  server.registerPrompt('x', {}, prompt);
  server.registerResource('x', 'x:1', {}, (_uri, _variables, context) => prompt({}, context));
}

let served: Served;
beforeAll(async () => {
  served = await serve(registerAll);
});
afterAll(() => served.close());

describe.each(eras)('%s era', (era) => {
  let client: EraClient;
  beforeAll(async () => {
    client = await connect(era, served);
  });
  const call = async (name: string, progressToken?: unknown) => {
    const reply = await client.request('tools/call', {
      name,
      _meta: progressToken === undefined ? {} : { progressToken },
    });
    return reply.messages;
  };

  // https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress#progress-flow
  it.each(['token', '', 0, 7, -1, 9_007_199_254_740_991])(
    'reports under the token that the client gave, in its own type: %j',
    async (progressToken) => {
      const messages = await call('forward', progressToken);
      expect(messages.map(({ params }) => params)).toEqual([
        { progressToken, progress: 0 },
        { progressToken, progress: 0.5, total: 2 },
        { progressToken, progress: 1, total: 2, message: 'half' },
        { progressToken, progress: 2, total: 2 },
        undefined,
      ]);
      expect(messages.at(-1)).toHaveProperty('result');
    },
  );

  it.each([undefined, null, {}, [], true, 1.5])('reports nothing without a token: %j', async (progressToken) => {
    expect(await call('forward', progressToken)).toHaveLength(1);
  });

  it('MUST increase with each notification: what does not is not sent', async () => {
    const messages = await call('back', 't');
    expect(messages.slice(0, -1).map(({ params }) => params?.progress)).toEqual([1, 2]);
  });

  it('is a number that JSON has: what is not is not sent, nor is such a total', async () => {
    const messages = await call('odd', 't');
    expect(messages.slice(0, -1).map(({ params }) => params)).toEqual([
      { progressToken: 't', progress: 1 },
      { progressToken: 't', progress: 2 },
      { progressToken: 't', progress: 4 },
    ]);
  });

  it('may begin below zero', async () => {
    expect((await call('negative', 't')).slice(0, -1).map(({ params }) => params?.progress)).toEqual([-5, -4]);
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress#implementation-notes
  it('MUST stop after completion', async () => {
    const messages = await call('forward', 't');
    kept?.progress(100);
    kept?.log('emergency', 'late');
    expect(messages).toHaveLength(5);
    expect(await call('forward', 'next')).toHaveLength(5);
    expect(kept?.signal.aborted).toBe(false);
  });

  it('is there for prompts and resources too', async () => {
    const _meta = { progressToken: 't' };
    for (const reply of [
      await client.request('prompts/get', { name: 'x', _meta }),
      await client.request('resources/read', { uri: 'x:1', _meta }),
    ]) {
      expect(reply.messages[0]).toMatchObject({ method: 'notifications/progress', params: { progressToken: 't' } });
      expect(reply.messages).toHaveLength(2);
    }
  });
});
