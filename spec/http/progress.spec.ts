/** Progress on the wire: on the stream of its own call, as the client's revision knows it. */
import { connect, eras } from '../support/eras';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { textOf } from '../support/wire';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture({
    setup(server) {
      server.registerTool('reports', {}, async (_args, ctx) => {
        for (const value of [1, 2]) {
          ctx.progress(value, 10, `step ${value} of ${String(ctx.requestId)}`);
          await new Promise((resolve) => setImmediate(resolve));
        }
        return `reported to ${String(ctx.requestId)}`;
      });
    },
  });
});
afterAll(() => fixture.close());

const params = { name: 'reports', arguments: {}, _meta: { progressToken: 'same' } };

describe.each(eras)('progress, %s era', (era) => {
  it('of two calls under one token goes to each its own', async () => {
    const client = await connect(era, fixture);
    const ids = ['a', 'b'];
    const replies = await Promise.all(ids.map((id) => client.request('tools/call', params, { id })));
    replies.forEach((reply, n) => {
      const told = reply.messages.flatMap(({ params: said }) => said?.message ?? []);
      expect(told).toEqual([`step 1 of ${ids[n]}`, `step 2 of ${ids[n]}`]);
      expect(textOf(reply)).toBe(`reported to ${ids[n]}`);
    });
  });

  it('is followed by the result, and by nothing', async () => {
    const reply = await (await connect(era, fixture)).request('tools/call', params);
    expect(reply.messages.at(-1)).toBe(reply.response);
    expect(reply.messages).toHaveLength(3);
  });
});

describe('the message of a progress notification', () => {
  it.each([
    ['2024-11-05', false],
    ['2025-03-26', true],
    ['2025-06-18', true],
    ['2025-11-25', true],
  ] as const)('is sent to clients of %s: %s', async (revision, expected) => {
    const client = await connect('legacy', fixture, { revision });
    const reply = await client.request('tools/call', params, { id: 'a' });
    expect(reply.messages[0]?.params).toEqual({
      progressToken: 'same',
      progress: 1,
      total: 10,
      ...(expected ? { message: 'step 1 of a' } : {}),
    });
  });
});
