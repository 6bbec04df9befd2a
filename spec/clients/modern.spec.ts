/** What only the modern era has, as the official client 2.x uses it. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { ClientOptions, McpSubscription } from '@modelcontextprotocol/client';
import type { Fixture } from '../support/fixture';
import { createClientFixture } from './server';

let fixture: Fixture;
let client: Client;

beforeEach(async () => {
  fixture = await createClientFixture();
});
afterEach(async () => {
  await client.close();
  await fixture.close();
});

async function open(options: ClientOptions = {}): Promise<void> {
  client = new Client(
    { name: 'spec', version: '1.0.0' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } }, ...options },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(fixture.url)));
}

describe('the client 2.x in the modern era', () => {
  it('chooses it where it may choose, and opens no session', async () => {
    await open({ versionNegotiation: { mode: 'auto' } });
    expect(client.getProtocolEra()).toBe('modern');
    expect(client.getDiscoverResult()).toMatchObject({ supportedVersions: ['2026-07-28'] });
    expect(fixture.router.stats()).toMatchObject({ sessions: 0, streams: 0 });
  });

  it('takes the era when it is pinned to it', async () => {
    await open();
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
  });

  it('mirrors arguments into headers that the server accepts, in every encoding', async () => {
    await open();
    await client.listTools();
    for (const region of ['eu-west', 'Zürich', ' padded ', '=?base64?SGVsbG8=?=', '']) {
      const { content } = await client.callTool({ name: 'mirrored', arguments: { region } });
      const [argument, header] = JSON.parse((content[0] as { text: string }).text) as [string, string];
      expect(argument).toBe(region);
      expect(header).toEqual(expect.any(String));
    }
  });

  it('recovers when it has not yet seen that an argument is mirrored', async () => {
    await open();
    const { content } = await client.callTool({ name: 'mirrored', arguments: { region: 'eu' } });
    expect(content).toEqual([{ type: 'text', text: '["eu","eu"]' }]);
  });

  it('is told which changes it will hear of', async () => {
    await open();
    const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: ['file:///readme.txt'] });
    expect(subscription.honoredFilter).toEqual({
      toolsListChanged: true,
      resourceSubscriptions: ['file:///readme.txt'],
    });
    await subscription.close();
    expect(await subscription.closed).toBe('local');
  });

  it('keeps its list of tools fresh by itself', async () => {
    const lists: string[][] = [];
    let changed = (): void => undefined;
    const heard = () => new Promise<void>((resolve) => (changed = resolve));
    await open({
      listChanged: {
        tools: {
          debounceMs: 0,
          onChanged(_error, tools) {
            lists.push((tools ?? []).map(({ name }) => name));
            changed();
          },
        },
      },
    });
    const first = heard();
    fixture.server.registerTool('late', {}, () => 'late');
    await first;
    expect(lists.at(-1)).toContain('late');
  });

  it('learns of an orderly end of its subscription', async () => {
    await open();
    const subscription: McpSubscription = await client.listen({ toolsListChanged: true });
    const closing = fixture.router.close({ graceMs: 1_000 });
    expect(await subscription.closed).toBe('graceful');
    await closing;
  });

  it('does not run a tool again whose call it has cancelled', async () => {
    await open();
    const controller = new AbortController();
    const call = client.callTool({ name: 'hold' }, { signal: controller.signal });
    call.catch(() => undefined);
    await fixture.until(() => fixture.ran.includes('hold'));
    controller.abort();
    await fixture.until(() => fixture.ended.includes('hold'));
    await expect(call).rejects.toThrow();
    expect(fixture.ran.filter((name) => name === 'hold')).toHaveLength(1);
  });
});
