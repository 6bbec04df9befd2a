/** What the caller learns when a handler fails, and what it never learns. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { ErrorCode, McpError, ToolError } from 'express-mcp';
import type { McpServer } from 'express-mcp';
import * as z from 'zod';
import { connect, eras } from '../support/eras';
import type { EraClient } from '../support/eras';
import { root } from '../support/program';
import { serve } from '../support/serve';
import type { Served } from '../support/serve';
import { legacySession, textOf } from '../support/wire';

const secret = 'connect postgres://user:hunter2@db.internal/prod';

/** An error whose message cannot be read. */
class Unreadable extends Error {
  override get message(): string {
    throw new Error(secret);
  }
}

/** What a handler may throw without meaning the caller to read it. */
const thrown: Record<string, () => unknown> = {
  error: () => new Error(secret),
  typeError: () => new TypeError(secret),
  withCause: () => new Error('outer', { cause: new Error(secret) }),
  aggregate: () => new AggregateError([new Error(secret)], secret),
  string: () => secret,
  object: () => ({ message: secret }),
  nothing: () => undefined,
  null: () => null,
  symbol: () => Symbol(secret),
  unreadable: () => new Unreadable(),
  frozen: () => Object.freeze(new Error(secret)),
  bare: () => Object.create(null),
};

const ways = ['throw', 'reject'] as const;

function registerFailing(server: McpServer): void {
  const inputSchema = z.object({ what: z.string(), way: z.enum(ways) });
  const fail = ({ what, way }: { what: string; way: string }): never => {
    const value = thrown[what]!();
    if (way === 'reject') return Promise.reject(value) as never;
    throw value;
  };
  server.registerTool('fail', { inputSchema }, fail);
  server.registerPrompt(
    'fail',
    { argsSchema: inputSchema, complete: { what: (value) => fail({ what: value, way: 'throw' }) } },
    fail,
  );
  server.registerResource('fail', 'fail://{what}/{way}', {}, (_uri, variables) => fail(variables as never));
  server.registerTool('tool-error', {}, () => {
    throw new ToolError('No such city');
  });
  server.registerTool('mcp-error', {}, () => {
    throw new McpError(-1, 'Out of stock', { left: 0 });
  });
  server.registerTool('code', { inputSchema: z.object({ code: z.any(), data: z.any().optional() }) }, (args) => {
    throw new McpError(args.code as number, 'Why', args.data);
  });
  server.registerTool('text', {}, () => 'fine');
}

const page = { mode: 'url', elicitationId: 'one', url: 'https://example.com/', message: 'Log in' };

describe.each(eras)('%s era', (era) => {
  let served: Served;
  let client: EraClient;
  beforeAll(async () => {
    served = await serve(registerFailing);
    client = await connect(era, served);
  });
  afterAll(() => served.close());
  beforeEach(() => served.errors.splice(0));

  describe.each(Object.keys(thrown))('a handler that fails with: %s', (what) => {
    it.each(ways)('answers -32603 and nothing of it, whether it throws or rejects: %s', async (way) => {
      const uri = `fail://${what}/${way}`;
      for (const reply of [
        await client.callTool('fail', { what, way }, { id: 0 }),
        await client.request('prompts/get', { name: 'fail', arguments: { what, way } }, { id: 0 }),
        await client.request('resources/read', { uri }, { id: 0 }),
        await client.request(
          'completion/complete',
          { ref: { type: 'ref/prompt', name: 'fail' }, argument: { name: 'what', value: what } },
          { id: 0 },
        ),
      ]) {
        expect(reply.status).toBe(200);
        expect(reply.response).toEqual({ jsonrpc: '2.0', id: 0, error: { code: -32603, message: 'Internal error' } });
      }
      expect(served.errors).toHaveLength(4);
    });

    it('is what onError hears, as it was thrown', async () => {
      await client.callTool('fail', { what, way: 'throw' });
      const [heard] = served.errors;
      const expected = thrown[what]!();
      if (expected instanceof Unreadable) expect(heard).toBeInstanceOf(Unreadable);
      else if (typeof expected === 'symbol') expect(String(heard)).toBe(String(expected));
      else expect(heard).toEqual(expected);
    });
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/server/tools#error-handling
  it('a ToolError is a result for the model to read, and no fault', async () => {
    const reply = await client.callTool('tool-error');
    expect(reply.status).toBe(200);
    expect(reply.response?.result).toMatchObject({ isError: true, content: [{ type: 'text', text: 'No such city' }] });
    expect(served.errors).toEqual([]);
  });

  it('an McpError is the JSON-RPC error it says', async () => {
    const reply = await client.callTool('mcp-error');
    expect(reply.status).toBe(200);
    expect(reply.response?.error).toEqual({ code: -1, message: 'Out of stock', data: { left: 0 } });
    expect(served.errors).toEqual([]);
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic#error-codes
  it.each([-32020 - 3, -32050, -32099, 1.5, 'E_STOCK', null])(
    'a code that MUST NOT travel becomes -32603, and onError hears whose: %j',
    async (code) => {
      const reply = await client.callTool('code', { code, data: { left: 0 } });
      expect(reply.response?.error).toEqual({ code: -32603, message: 'Why', data: { left: 0 } });
      const [heard] = served.errors as Error[];
      expect(heard?.message).toContain(String(code));
      expect(heard?.cause).toBeInstanceOf(McpError);
    },
  );

  it.each([-32019, -32000, -32100, 0, 404])('any other travels as it is: %i', async (code) => {
    const reply = await client.callTool('code', { code }, { validate: false });
    expect(reply.response?.error).toEqual({ code, message: 'Why' });
    expect(served.errors).toEqual([]);
  });

  it('the next call is served as if nothing had happened', async () => {
    await client.callTool('fail', { what: 'nothing', way: 'reject' });
    expect(textOf(await client.callTool('text'))).toBe('fine');
  });
});

describe.each(eras)('exposeErrors in the %s era', (era) => {
  let served: Served;
  let client: EraClient;
  beforeAll(async () => {
    served = await serve(registerFailing, { server: { exposeErrors: true } });
    client = await connect(era, served);
  });
  afterAll(() => served.close());

  it.each(['error', 'typeError', 'aggregate', 'frozen'])('shows the message of an Error: %s', async (what) => {
    const reply = await client.callTool('fail', { what, way: 'throw' });
    expect(reply.response?.result).toMatchObject({ isError: true, content: [{ type: 'text', text: secret }] });
    const prompt = await client.request('prompts/get', { name: 'fail', arguments: { what, way: 'throw' } });
    expect(prompt.response?.error).toEqual({ code: -32603, message: secret });
    const read = await client.request('resources/read', { uri: `fail://${what}/reject` });
    expect(read.response?.error).toEqual({ code: -32603, message: secret });
  });

  it('never shows a cause or a stack', async () => {
    const reply = await client.callTool('fail', { what: 'withCause', way: 'throw' });
    expect(reply.response?.result?.content).toEqual([{ type: 'text', text: 'outer' }]);
    expect(reply.text).not.toContain('hunter2');
  });

  it('answers all the same when the message cannot be read', async () => {
    const reply = await client.callTool('fail', { what: 'unreadable', way: 'throw' });
    expect(reply.response?.result).toMatchObject({ isError: true });
    const prompt = await client.request('prompts/get', {
      name: 'fail',
      arguments: { what: 'unreadable', way: 'throw' },
    });
    expect(prompt.response?.error?.code).toBe(-32603);
    expect(prompt.text).not.toContain('hunter2');
  });

  it.each(['string', 'object', 'nothing', 'null', 'bare'])('does not show what is no Error: %s', async (what) => {
    const reply = await client.callTool('fail', { what, way: 'throw' });
    expect(reply.response?.error).toEqual({ code: -32603, message: 'Internal error' });
  });

  it('leaves an McpError the JSON-RPC error it is', async () => {
    expect((await client.callTool('mcp-error')).response?.error?.code).toBe(-1);
  });
});

describe('a handler whose failure comes after its answer', () => {
  it('has answered, and the late failure is the host’s own', () => {
    const program = `
      const { McpServer, allowAll } = require('express-mcp-under-test');
      const server = new McpServer({ name: 'late', version: '1' }, { authorizer: allowAll, onError: (e) => console.log('onError', e) });
      server.registerTool('late', {}, () => { setTimeout(() => Promise.reject(new Error('late'))); return 'early'; });
      server.registerTool('other', {}, () => new Promise((resolve) => setTimeout(resolve, 50, 'other')));
      process.on('unhandledRejection', (error) => console.log('host:', error.message));
      const call = (name) => server.handleMessage({ jsonrpc: '2.0', id: name, method: 'tools/call', params: { name } });
      Promise.all([call('late'), call('other')]).then((answers) => console.log(JSON.stringify(answers.map((a) => a.result.content[0].text))));
    `.replace('express-mcp-under-test', path.join(root, 'lib/index.ts'));
    const run = spawnSync(process.execPath, ['-r', 'esbuild-register', '-e', program], { cwd: root, encoding: 'utf8' });
    expect(run.stdout.trim().split('\n').sort()).toEqual(['["early","other"]', 'host: late']);
    expect(run.status).toBe(0);
  });
});

describe('failures of every kind', () => {
  it('leave no rejection unhandled', () => {
    const program = `
      const { McpServer, allowAll, ToolError } = require('${path.join(root, 'lib/index.ts')}');
      const server = new McpServer({ name: 'odd', version: '1' }, { authorizer: allowAll, onError() { throw new Error('onError fails too'); } });
      const kinds = [new Error('x'), 'x', { a: 1 }, undefined, null, new ToolError('x')];
      kinds.forEach((kind, index) => {
        server.registerTool('sync' + index, {}, () => { throw kind; });
        server.registerTool('async' + index, { timeoutMs: 1_000 }, async () => { throw kind; });
        server.registerTool('slow' + index, { timeoutMs: 5 }, () => new Promise((_, reject) => setTimeout(reject, 20, kind)));
      });
      const call = (name) => server.handleMessage({ jsonrpc: '2.0', id: name, method: 'tools/call', params: { name } });
      const names = ['sync', 'async', 'slow'].flatMap((way) => kinds.map((_, index) => way + index));
      Promise.all(names.map(call)).then((answers) => setTimeout(() => console.log(answers.length), 50));
    `;
    const args = ['--unhandled-rejections=strict', '-r', 'esbuild-register', '-e', program];
    const run = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
    expect(run.stdout.trim()).toBe('18');
    expect(run.status).toBe(0);
  });
});

describe('an author who means a code of the specification', () => {
  it.each([
    ['legacy', -32002],
    ['modern', -32602],
  ] as const)('says that a resource is not there in the way of the caller’s era: %s', async (era, code) => {
    const served = await serve((server) => {
      server.registerResource('row', 'row://{id}', {}, (uri) => {
        throw new McpError(ErrorCode.ResourceNotFound, 'No such row', { uri });
      });
    });
    try {
      const client = await connect(era, served);
      const reply = await client.request('resources/read', { uri: 'row://7' });
      expect(reply.response?.error).toEqual({ code, message: 'No such row', data: { uri: 'row://7' } });
    } finally {
      await served.close();
    }
  });
});

// https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error
describe('-32042', () => {
  let served: Served;
  beforeAll(async () => {
    served = await serve(registerFailing);
  });
  afterAll(() => served.close());
  beforeEach(() => served.errors.splice(0));
  const fail = async (data: unknown, capabilities: object = { elicitation: { url: {} } }) => {
    const session = await legacySession(served, { capabilities });
    return (await session.callTool('code', { code: -32042, data })).response?.error?.code;
  };

  it('goes to a client that can open the pages it names', async () => {
    expect(await fail({ elicitations: [page, page] })).toBe(-32042);
    expect(served.errors).toEqual([]);
  });

  it('MUST NOT go to a client that cannot', async () => {
    expect(await fail({ elicitations: [page] }, {})).toBe(-32603);
    expect(await fail({ elicitations: [page] }, { elicitation: {} })).toBe(-32603);
    expect(served.errors).toEqual([]);
  });

  it.each([
    undefined,
    {},
    { elicitations: {} },
    { elicitations: [] },
    { elicitations: [{ ...page, mode: 'form' }] },
    { elicitations: [page, { ...page, elicitationId: undefined }] },
  ])('MUST name them, with their ids: %j is the author’s fault', async (data) => {
    expect(await fail(data)).toBe(-32603);
    expect(served.errors).toEqual([expect.objectContaining({ message: expect.stringContaining('-32042') as string })]);
  });
});
