/** `examples/authorizer.ts`: what each role may see and do. */
import { endExamples, startExample } from '../support/example';
import type { Example } from '../support/example';
import { modern, textOf } from '../support/wire';
import type { ModernClient } from '../support/wire';

const denialKey = 'io.github.express-mcp/authorization';
let example: Example;
let alice: ModernClient;
let bob: ModernClient;

beforeAll(async () => {
  example = await startExample('authorizer');
  alice = modern(example, { Authorization: 'Bearer token-of-alice' });
  bob = modern(example, { Authorization: 'Bearer token-of-bob' });
}, 60_000);
afterAll(endExamples);

describe('the example authorizer', () => {
  it('shows each role what it may use', async () => {
    const names = async (client: ModernClient) =>
      ((await client.request('tools/list')).response?.result?.tools as { name: string }[]).map(({ name }) => name);
    expect(await names(alice)).toEqual(['get_order', 'refund']);
    expect(await names(bob)).toEqual(['get_order']);
  });

  it('lets everybody read', async () => {
    for (const client of [alice, bob]) {
      expect(textOf(await client.callTool('get_order', { order: '7' }))).toBe('Order 7: one teapot, delivered');
    }
  });

  it('lets support refund up to a limit, and says what to do beyond it', async () => {
    expect(textOf(await alice.callTool('refund', { order: '7', amount: 100 }))).toBe('Refunded 100 for order 7');
    const { response } = await alice.callTool('refund', { order: '7', amount: 101 });
    expect(response?.result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('need a manager') }],
      _meta: { [denialKey]: { code: 'authorization_denied', reason: expect.stringContaining('need a manager') } },
    });
  });

  it('answers a guest as if the tool did not exist, whatever the arguments', async () => {
    for (const args of [{ order: '7', amount: 1 }, { order: '7', amount: 'x' }, {}]) {
      const reply = await bob.callTool('refund', args);
      expect(reply.response?.error).toEqual({ code: -32602, message: 'Unknown tool: refund' });
    }
  });
});
