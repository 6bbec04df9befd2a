/** The callbacks of connect(): one way to answer in both eras. */
import { allow, elicit, McpError, McpServer } from 'express-mcp';
import { connect } from 'express-mcp/testing';
import type { ConnectOptions, TestClient } from 'express-mcp/testing';
import * as z from 'zod';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { modernRevision } from '../support/schema';

const form = z.object({ name: z.string() });
const clients: TestClient[] = [];
let fixture: Fixture;

beforeAll(async () => {
  fixture = await createFixture({ setup: registerQuestions });
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});
afterAll(() => fixture.close());

function registerQuestions(server: McpServer): void {
  server.registerTool('all', {}, async (_args, ctx) => {
    const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'Capital of Norway?' } }];
    const [who, said, { roots }] = await Promise.all([
      ctx.elicit('who', { message: 'Who?', schema: form }),
      ctx.sample('say', { messages, maxTokens: 10 }),
      ctx.listRoots(),
    ]);
    return JSON.stringify([who.content?.name, said.content, roots]);
  });
  server.registerTool('twice', {}, async (_args, ctx) => {
    const first = await ctx.elicit('first', { message: 'First?', schema: form });
    const second = await ctx.elicit('second', { message: `After ${first.content?.name}?`, schema: form });
    return `${first.content?.name} ${second.content?.name}`;
  });
  server.registerTool('endless', {}, async (_args, ctx) => {
    for (let n = 0; ; n += 1) await ctx.elicit(`${n}`, { message: 'More?', schema: form });
  });
  server.registerPrompt('who', {}, async (_args, ctx) => {
    const answer = await ctx.elicit('who', { message: 'Who?', schema: form });
    return `Greet ${answer.content?.name}`;
  });
}

async function open(door: 'server' | 'app', options: ConnectOptions): Promise<TestClient> {
  const client = await connect(fixture[door], options);
  clients.push(client);
  return client;
}

const ways = (['server', 'app'] as const).flatMap((door) =>
  (['2025-11-25', modernRevision] as const).map((revision) => [door, revision] as const),
);

describe.each(ways)('questions to a client of the %s in %s', (door, revision) => {
  it('are answered by its callbacks, several at a time and one after another', async () => {
    const asked: unknown[] = [];
    const client = await open(door, {
      revision,
      onElicit: ({ message }) => {
        asked.push(message);
        return { action: 'accept', content: { name: message } };
      },
      onSample: ({ messages }) => {
        asked.push(messages.length);
        return { role: 'assistant', model: 'm', content: { type: 'text', text: 'Oslo' } };
      },
      onListRoots: async () => [{ uri: 'file:///home' }],
    });
    const { content } = await client.callTool('all');
    const text = JSON.stringify(['Who?', { type: 'text', text: 'Oslo' }, [{ uri: 'file:///home' }]]);
    expect(content).toEqual([{ type: 'text', text }]);
    expect((await client.callTool('twice')).content).toEqual([{ type: 'text', text: 'First? After First??' }]);
    expect(asked).toEqual(['Who?', 1, 'First?', 'After First??']);
    expect((await client.getPrompt('who')).messages).toMatchObject([{ content: { text: 'Greet Who?' } }]);
  });

  it('fail the request with what the callback throws', async () => {
    const client = await open(door, {
      revision,
      onElicit: () => {
        throw new Error('an assertion');
      },
    });
    await expect(client.callTool('ask')).rejects.toThrow('an assertion');
    expect((await client.callTool('nothing')).isError).toBeUndefined();
  });

  it('fail the request where the client has claimed more than it has callbacks for', async () => {
    const client = await open(door, { revision, capabilities: { elicitation: {} } });
    const message = 'The server sent elicitation/create, and connect() was given no onElicit';
    await expect(client.callTool('ask')).rejects.toThrow(message);
  });

  it('are not put to a client without callbacks', async () => {
    const client = await open(door, { revision });
    const result = await client.callTool('ask').catch((error: unknown) => error);
    if (revision === modernRevision) {
      expect(result).toBeInstanceOf(McpError);
      expect(result).toMatchObject({ code: -32021, data: { requiredCapabilities: { elicitation: {} } } });
    } else {
      expect(result).toMatchObject({ isError: true });
    }
  });
});

describe('a client of a modern server', () => {
  it('stops after maxRounds', async () => {
    let answered = 0;
    const client = await open('server', {
      maxRounds: 3,
      onElicit: () => {
        answered += 1;
        return { action: 'accept', content: { name: 'x' } };
      },
    });
    const message = 'tools/call has been answered 3 times, and asks again (option maxRounds)';
    await expect(client.callTool('endless')).rejects.toThrow(message);
    expect(answered).toBe(4);
  });
});

describe('an approval that the authorizer asks for', () => {
  it.each(['2025-11-25', modernRevision])('is a question like any other (%s)', async (revision) => {
    const server = new McpServer(
      { name: 'approving', version: '1' },
      { authorizer: ({ operation }) => (operation === 'call' ? elicit('Wipe the disk?') : allow()) },
    );
    server.registerTool('wipe', { sensitive: true }, () => 'wiped');
    const calling = async (ok: boolean) => {
      const asked: unknown[] = [];
      const client = await connect(server, {
        revision,
        onElicit: (params) => {
          asked.push(params.message);
          const [field = ''] = 'requestedSchema' in params ? Object.keys(params.requestedSchema.properties) : [];
          return ok ? { action: 'accept', content: { [field]: true } } : { action: 'decline' };
        },
      });
      clients.push(client);
      const { isError } = await client.callTool('wipe');
      expect(asked).toEqual(['Wipe the disk?']);
      return isError;
    };
    expect(await calling(true)).toBeUndefined();
    expect(await calling(false)).toBe(true);
  });
});
