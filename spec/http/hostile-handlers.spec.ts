/** Handlers that do what nobody should, and callers that ask for what nobody has. */
import { connect, eras } from '../support/eras';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { legacySession, post } from '../support/wire';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture({
    router: { inboxLimit: 5, maxSocketBytes: 1_024 },
    setup(server) {
      server.registerTool('reports-fast', {}, (_args, { progress }) => {
        for (let step = 1; step <= 5_000; step += 1) progress(step, 5_000, 'y'.repeat(1_000));
        return 'done';
      });
      server.registerTool('logs-anything', {}, (_args, { log }) => {
        log('error', 1n);
        return 'done';
      });
      server.registerPrompt('revoked', {}, () => {
        const { proxy, revoke } = Proxy.revocable({}, {});
        revoke();
        throw proxy;
      });
    },
  });
});
afterAll(() => fixture.close());
beforeEach(() => fixture.errors.splice(0));

describe.each(eras)('in the %s era', (era) => {
  it('a tool that reports faster than its client reads loses reports, not its result or its session', async () => {
    const client = await connect(era, fixture);
    const reply = await client.request('tools/call', { name: 'reports-fast', _meta: { progressToken: 1 } });
    expect(reply.response?.result).toMatchObject({ content: [{ text: 'done' }] });
    expect((await client.request('tools/list')).status).toBe(200);
  });

  it('what is thrown and cannot be looked at is an internal error under the request’s id', async () => {
    const client = await connect(era, fixture);
    const reply = await client.request('prompts/get', { name: 'revoked' }, { id: 'p' });
    expect(reply).toMatchObject({
      status: 200,
      response: { id: 'p', error: { code: -32603, message: 'Internal error' } },
    });
    expect(fixture.errors).toHaveLength(1);
    expect(fixture.router.stats().calls).toBe(0);
  });
});

describe('in the legacy era', () => {
  it('a log that JSON cannot carry is the author’s fault, and the call has its result', async () => {
    const client = await connect('legacy', fixture);
    const reply = await client.request('tools/call', { name: 'logs-anything' });
    expect(reply.response?.result).toMatchObject({ content: [{ text: 'done' }] });
    expect(fixture.errors).toHaveLength(1);
  });

  it('fields that only modern requests have are fields like any unknown ones', async () => {
    const client = await connect('legacy', fixture);
    const params = { name: 'echo', arguments: { text: 'hi' }, requestState: 'junk', inputResponses: 5 };
    expect((await client.request('tools/call', params)).response?.result).toMatchObject({ content: [{ text: 'hi' }] });
  });

  it('a request’s method without an id is refused in a batch as it is alone', async () => {
    const session = await legacySession(fixture, { revision: '2025-03-26' });
    const batch = [{ jsonrpc: '2.0', method: 'tools/call', params: { name: 'echo', arguments: { text: 'hi' } } }];
    const reply = await post(fixture.url, batch, session.headers);
    expect(JSON.parse(reply.text)).toMatchObject([{ error: { code: -32600 } }]);
  });
});
