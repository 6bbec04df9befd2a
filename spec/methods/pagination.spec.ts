/** Lists in pages. */
import type { McpServer } from 'express-mcp';
import { connect, eras } from '../support/eras';
import type { EraClient } from '../support/eras';
import { join } from '../support/memory';
import { createServer, serve } from '../support/serve';
import type { Served } from '../support/serve';

const names = ['a', 'b', 'c', 'd', 'e'];

function registerFive(server: McpServer): void {
  for (const name of names) {
    server.registerTool(name, {}, () => name);
    server.registerPrompt(name, {}, () => name);
    server.registerResource(name, `x://${name}`, {}, () => name);
    server.registerResource(name, `x://${name}/{id}`, {}, () => name);
  }
}

const lists = [
  ['tools/list', 'tools'],
  ['prompts/list', 'prompts'],
  ['resources/list', 'resources'],
  ['resources/templates/list', 'resourceTemplates'],
] as const;

let served: Served;
beforeAll(async () => {
  served = await serve(registerFive, { server: { pageSize: 2 } });
});
afterAll(() => served.close());

describe.each(eras)('%s era', (era) => {
  let client: EraClient;
  beforeAll(async () => {
    client = await connect(era, served);
  });

  describe.each(lists)('%s', (method, field) => {
    const page = async (cursor?: unknown) => client.request(method, cursor === undefined ? {} : { cursor });

    it('a walk shows each entry once, in order, and ends', async () => {
      const walked: string[][] = [];
      let cursor: unknown;
      do {
        const { response } = await page(cursor);
        walked.push((response?.result?.[field] as { name: string }[]).map(({ name }) => name));
        cursor = response?.result?.nextCursor;
        expect(cursor === undefined || typeof cursor === 'string').toBe(true);
      } while (cursor !== undefined && walked.length < 10);
      expect(walked).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
    });

    it('a cursor gives the same page each time', async () => {
      const { nextCursor } = (await page()).response?.result ?? {};
      const [first, second] = [await page(nextCursor), await page(nextCursor)];
      expect(first.response?.result).toEqual(second.response?.result);
    });

    // https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination#error-handling
    it.each(['bogus', ' ', '', '0', 'p2', 'cA', 'cDI=x', 'é', Buffer.from('p-1').toString('base64url')])(
      'a cursor that is none SHOULD be -32602: %j',
      async (cursor) => {
        const { response } = await page(cursor);
        expect(response?.error?.code).toBe(-32602);
      },
    );

    it.each([5, 0, true, {}, [], ['x']])('a cursor that is no string is -32602: %j', async (cursor) => {
      expect((await page(cursor)).response?.error?.code).toBe(-32602);
    });

    it('one past the end is -32602', async () => {
      for (const start of [5, 6, 999_999_999]) {
        const cursor = Buffer.from(`p${start}`).toString('base64url');
        expect((await page(cursor)).response?.error?.code).toBe(-32602);
      }
    });

    it('null is no cursor', async () => {
      const { response } = await page(null);
      expect(response?.result?.[field]).toHaveLength(2);
    });
  });
});

describe('the size of a page', () => {
  it.each([
    [4, 2],
    [5, 1],
    [6, 1],
  ])('of %i makes %i pages of five entries', async (pageSize, pages) => {
    const client = await join(createServer(registerFive, { server: { pageSize } }));
    for (const [method] of lists) {
      let cursor: string | undefined;
      let walked = 0;
      do {
        const { result } = await client.request(method, { cursor });
        cursor = result?.nextCursor as string | undefined;
        walked += 1;
      } while (cursor !== undefined);
      expect(walked).toBe(pages);
    }
  });

  it('is 100 unless the server says otherwise', async () => {
    const server = createServer((s) => {
      for (let n = 0; n < 101; n += 1) s.registerTool(`t${n}`, {}, () => '');
    });
    const { result } = await (await join(server)).request('tools/list');
    expect(result?.tools).toHaveLength(100);
    expect(result?.nextCursor).toEqual(expect.any(String));
  });

  it('a list that has shrunk refuses the cursor past its end, and starts anew', async () => {
    const server = createServer(undefined, { server: { pageSize: 2 } });
    const handles = names.map((name) => server.registerTool(name, {}, () => ''));
    const client = await join(server);
    const { nextCursor: cursor } = (await client.request('tools/list')).result!;
    for (const handle of handles.slice(2)) handle.remove();
    expect((await client.request('tools/list', { cursor })).error?.code).toBe(-32602);
    expect((await client.request('tools/list')).result?.nextCursor).toBeUndefined();
  });
});
