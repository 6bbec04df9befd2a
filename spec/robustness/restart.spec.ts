/** A server process that ends and comes back with no memory of anybody. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport, StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { startServer } from '../soak/server-process';
import type { SoakedServer } from '../soak/server-process';
import { legacySession, modern, textOf } from '../support/wire';

jest.setTimeout(60_000);

let server: SoakedServer;
const clients = new Set<RecoveringClient>();

beforeEach(async () => {
  server = await startServer();
});
afterEach(async () => {
  await Promise.all([...clients].map((client) => client.close()));
  clients.clear();
  await server.kill();
});

async function restart(): Promise<void> {
  const { port } = server;
  await server.kill();
  server = await startServer(port);
}

/** The real client, with what its users are told to do about 404: a new transport, and once more. */
class RecoveringClient {
  recovered = 0;
  #client: Promise<Client>;
  /** Closed at the end: other calls may still have to hear their 404. */
  readonly #old: Client[] = [];

  constructor() {
    this.#client = this.#connect();
    clients.add(this);
  }

  async #connect(): Promise<Client> {
    const client = new Client({ name: 'spec', version: '1.0.0' });
    client.onerror = () => undefined;
    await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${server.port}/`)));
    return client;
  }

  async echo(text: string): Promise<string> {
    const current = this.#client;
    const client = await current;
    try {
      const { content } = await client.callTool({ name: 'echo', arguments: { text } });
      return (content as { text: string }[])[0]!.text;
    } catch (error) {
      if (!(error instanceof StreamableHTTPError) || error.code !== 404) throw error;
      // Whichever call hears of it first reconnects for all.
      if (this.#client === current) {
        this.recovered += 1;
        this.#old.push(client);
        this.#client = this.#connect();
      }
      return this.echo(text);
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#old, await this.#client].map((client) => client.close()));
  }
}

describe('a restart without a shared store', () => {
  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
  it('MUST answer 404 to every session of before, on each of its roads', async () => {
    const session = await legacySession({ url: `http://127.0.0.1:${server.port}/` });
    const call = await session.stream('tools/call', {
      name: 'work',
      arguments: { text: 'x' },
      _meta: { progressToken: 1 },
    });
    const { id } = (await call.next())!;
    await restart();
    await call.ended;
    expect((await session.callTool('echo', { text: 'x' })).status).toBe(404);
    expect((await session.notify('notifications/initialized')).status).toBe(404);
    expect((await session.get()).status).toBe(404);
    expect((await session.get({ 'Last-Event-ID': id })).status).toBe(404);
    expect((await session.delete()).status).toBe(404);
  });

  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
  it('lets every client recover: upon 404 it MUST start a new session', async () => {
    const all = Array.from({ length: 20 }, () => new RecoveringClient());
    const before = await Promise.all(all.map((client, who) => client.echo(`before ${who}`)));
    await restart();
    const after = await Promise.all(
      all.flatMap((client, who) => [client.echo(`after ${who}`), client.echo(`again ${who}`)]),
    );
    expect(before).toEqual(all.map((_client, who) => `before ${who}`));
    expect(after).toEqual(all.flatMap((_client, who) => [`after ${who}`, `again ${who}`]));
    expect(all.map(({ recovered }) => recovered)).toEqual(all.map(() => 1));
    expect((await server.condition()).stats).toMatchObject({ sessions: 20, requests: { 404: expect.any(Number) } });
  });

  it('is nothing to clients of 2026-07-28, which keep no session', async () => {
    const client = modern({ url: `http://127.0.0.1:${server.port}/` });
    expect(textOf(await client.callTool('echo', { text: 'before' }))).toBe('before');
    await restart();
    expect(textOf(await client.callTool('echo', { text: 'after' }))).toBe('after');
  });
});
