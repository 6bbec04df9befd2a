/** `examples/dynamic-tools.ts`: each caller has tools of their own. */
import { endExamples, startExample } from '../support/example';
import type { Example } from '../support/example';
import { legacySession, modern, textOf } from '../support/wire';
import type { ModernClient } from '../support/wire';

let example: Example;
let alice: ModernClient;
let bob: ModernClient;

beforeAll(async () => {
  example = await startExample('dynamic-tools');
  alice = modern(example, { Authorization: 'Bearer token-of-alice' });
  bob = modern(example, { Authorization: 'Bearer token-of-bob' });
}, 60_000);
afterAll(endExamples);

async function toolsOf(client: ModernClient): Promise<string[]> {
  const { response } = await client.request('tools/list');
  return (response?.result?.tools as { name: string }[]).map(({ name }) => name);
}

describe('the example dynamic-tools', () => {
  it('serves nobody without a token', async () => {
    expect((await modern(example).request('tools/list')).status).toBe(401);
  });

  it('makes what a caller saves a tool of that caller alone', async () => {
    const saved = await alice.callTool('save_template', { title: 'thanks', text: 'Thank you, {name}! Yours, {name}' });
    expect(textOf(saved)).toBe('Saved as write_thanks');
    expect(await toolsOf(alice)).toEqual(['save_template', 'write_thanks']);
    expect(await toolsOf(bob)).toEqual(['save_template']);
    expect(textOf(await alice.callTool('write_thanks', { name: 'Ann' }))).toBe('Thank you, Ann! Yours, Ann');
    const reply = await bob.callTool('write_thanks', { name: 'Ann' });
    expect(reply.response?.error).toEqual({ code: -32602, message: 'Unknown tool: write_thanks' });
  });

  it('checks the arguments of such a tool like those of any other', async () => {
    await alice.callTool('save_template', { title: 'hello', text: 'Hello, {name}' });
    const reply = await alice.callTool('write_hello', {});
    expect(reply.response?.result?.isError).toBe(true);
    expect(textOf(reply)).toContain('name:');
  });

  it('tells a session that listens that its list has changed', async () => {
    const session = await legacySession(example, { headers: { Authorization: 'Bearer token-of-bob' } });
    const stream = await session.get();
    await session.callTool('save_template', { title: 'bye', text: 'Bye, {name}' });
    await stream.find(({ method }) => method === 'notifications/tools/list_changed');
    stream.close();
    expect(await toolsOf(bob)).toEqual(['save_template', 'write_bye']);
  });
});
