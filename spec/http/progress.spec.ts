/** Progress on the wire: only for who asked, always upwards, never after the end. */
import { connect, eras } from '../support/eras';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { textOf } from '../support/wire';
import type { Reply } from '../support/wire';

let fixture: Fixture;
/** Values that `reports` reports, those after null once its result is sent. */
let values: (number | null)[];
let reportedLate: Promise<void>;
beforeAll(async () => {
  fixture = await createFixture({
    setup(server) {
      server.registerTool('reports', {}, (_args, ctx) => {
        const end = values.indexOf(null);
        for (const value of end < 0 ? values : values.slice(0, end)) ctx.progress(value!, 10, 'm');
        reportedLate = new Promise((resolve) =>
          setTimeout(() => {
            if (end >= 0) for (const value of values.slice(end + 1)) ctx.progress(value!);
            resolve();
          }, 5),
        );
        return 'reported';
      });
    },
  });
});
afterAll(() => fixture.close());

function progressOf(reply: Reply): unknown[] {
  return reply.messages
    .filter(({ method }) => method === 'notifications/progress')
    .map(({ params }) => params?.progress);
}

describe.each(eras)('progress, %s era', (era) => {
  // https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress#behavior-requirements
  // https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress
  it.each([0, '', 7, 't', -1, '0'])('MUST carry the very token that the request gave: %j', async (progressToken) => {
    const client = await connect(era, fixture);
    const reply = await client.request('tools/call', { name: 'progress', arguments: {}, _meta: { progressToken } });
    const tokens = reply.messages.filter(({ method }) => method).map(({ params }) => params?.progressToken);
    expect(tokens).toEqual([progressToken, progressToken, progressToken]);
    expect(textOf(reply)).toBe('reported');
  });

  it.each([undefined, null, true, {}, [], [1]])(
    'MUST NOT be sent under a token that was not given, or is none: %j',
    async (progressToken) => {
      const client = await connect(era, fixture);
      const reply = await client.request('tools/call', { name: 'progress', arguments: {}, _meta: { progressToken } });
      expect(progressOf(reply)).toEqual([]);
      expect(reply.response).toBeDefined();
    },
  );

  it('MUST NOT be sent without any _meta of the client', async () => {
    const reply = await (await connect(era, fixture)).callTool('progress');
    expect([reply.messages.length, textOf(reply)]).toEqual([1, 'reported']);
  });

  it.each<[(number | null)[], number[]]>([
    [
      [1, 1, 0.5, 2],
      [1, 2],
    ],
    [[0], [0]],
    [
      [-5, -4.5, -4.5],
      [-5, -4.5],
    ],
    [[3, 2, 1], [3]],
    [[Number.NaN, 1, Number.NaN], [1]],
  ])('MUST increase with each notification: %j', async (given, sent) => {
    values = given;
    const client = await connect(era, fixture);
    const reply = await client.request('tools/call', { name: 'reports', arguments: {}, _meta: { progressToken: 1 } });
    expect(progressOf(reply)).toEqual(sent);
  });

  it('MUST stop with the result', async () => {
    values = [1, null, 3];
    const client = await connect(era, fixture);
    const reply = await client.request('tools/call', { name: 'reports', arguments: {}, _meta: { progressToken: 1 } });
    await reportedLate;
    expect(progressOf(reply)).toEqual([1]);
    expect(reply.messages.at(-1)).toBe(reply.response);
    expect(fixture.errors).toEqual([]);
  });

  it('of two calls under one token goes to each its own', async () => {
    values = [1, 2];
    const client = await connect(era, fixture);
    const params = { name: 'reports', arguments: {}, _meta: { progressToken: 'same' } };
    const replies = await Promise.all([client.request('tools/call', params), client.request('tools/call', params)]);
    expect(replies.map(progressOf)).toEqual([
      [1, 2],
      [1, 2],
    ]);
  });
});

describe('the message of a progress notification', () => {
  it.each([
    ['2024-11-05', false],
    ['2025-03-26', true],
    ['2025-06-18', true],
    ['2025-11-25', true],
  ] as const)('is sent to clients of %s: %s', async (revision, expected) => {
    values = [1];
    const client = await connect('legacy', fixture, { revision });
    const reply = await client.request('tools/call', { name: 'reports', arguments: {}, _meta: { progressToken: 1 } });
    expect(reply.messages[0]?.params).toEqual({
      progressToken: 1,
      progress: 1,
      total: 10,
      ...(expected ? { message: 'm' } : {}),
    });
  });
});
