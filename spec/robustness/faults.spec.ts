/** A bad network between the real client and a server: what had become a stream arrives, the rest fails in words. */
import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import type { McpRouterOptions } from 'express-mcp';
import * as z from 'zod';
import { eventually } from '../support/eventually';
import { serve } from '../support/serve';
import type { Served } from '../support/serve';
import { legacySession, textOf } from '../support/wire';
import { createTcpProxy } from './tcp-proxy';
import type { ProxyConnection, TcpProxy } from './tcp-proxy';

jest.setTimeout(60_000);

let served: Served;
let proxy: TcpProxy;
let url: string;
/** Lets the tools that wait return. */
let release: () => void;
let ran: string[];
const clients: Client[] = [];

async function start(router: McpRouterOptions = {}): Promise<void> {
  ran = [];
  const released = new Promise<void>((resolve) => (release = resolve));
  served = await serve(
    (server) => {
      const inputSchema = z.object({ text: z.string() });
      server.registerTool('echo', { inputSchema }, ({ text }) => {
        ran.push(text);
        return text;
      });
      server.registerTool('wait', { inputSchema }, async ({ text }, ctx) => {
        ran.push(text);
        ctx.progress(1);
        await released;
        ctx.progress(2);
        return text;
      });
      server.registerTool('size', { inputSchema }, ({ text }) => String(text.length));
    },
    { router: { retryMs: 20, ...router } },
  );
  proxy = await createTcpProxy(served.port);
  url = `http://127.0.0.1:${proxy.port}/`;
}

afterEach(async () => {
  release();
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await proxy.close();
  await served.close();
});

/** The client that most people have, as it comes, but for its patience: it is to try again at once. */
async function connect(): Promise<Client> {
  const client = new Client({ name: 'spec', version: '1.0.0' });
  const reconnectionOptions = {
    initialReconnectionDelay: 20,
    maxReconnectionDelay: 100,
    reconnectionDelayGrowFactor: 1.5,
    maxRetries: 40,
  };
  // It reports every lost connection here too.
  client.onerror = () => undefined;
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { reconnectionOptions }));
  clients.push(client);
  return client;
}

/** Call a tool: its text, or the error's. */
async function call(client: Client, name: string, text: string, onprogress?: (step: number) => void): Promise<string> {
  try {
    const result = await client.callTool(
      { name, arguments: { text } },
      undefined,
      onprogress && { onprogress: ({ progress }) => onprogress(progress) },
    );
    return (result.content as { text: string }[])[0]!.text;
  } catch (error) {
    const { message, cause } = error as Error;
    return `${message}${cause instanceof Error ? `: ${cause.message}` : ''}`;
  }
}

/** What no call may end with: the client's own patience. */
const silence = /timed out/i;

describe('a connection that is cut', () => {
  it('loses no result of a reply that has become a stream', async () => {
    await start();
    const client = await connect();
    const steps: number[] = [];
    const result = call(client, 'wait', 'kept', (step) => steps.push(step));
    (await proxy.find(({ received }) => received.includes('"progress":1'))).cut();
    release();
    expect(await result).toBe('kept');
    expect(ran).toEqual(['kept']);
    await eventually(() => steps.length === 2);
  });

  it('loses none however often it is cut, and whatever runs beside it', async () => {
    await start({ stream: 'always' });
    const all = await Promise.all(Array.from({ length: 4 }, connect));
    let pieces = 0;
    let cuts = 0;
    // Every third piece of an answer is the last of its connection, once the client has an event to come back with.
    proxy.onData = ({ received }, direction, piece) => {
      if (direction === 'up') return true;
      const before = received.slice(received.lastIndexOf('HTTP/1.1 '), -piece.length);
      if (!/\nid: .+\n/.test(before) || (pieces += 1) % 3 !== 0) return true;
      cuts += 1;
      return false;
    };
    const results = all.flatMap((client, who) =>
      Array.from({ length: 5 }, (_, which) => call(client, 'wait', `${who}.${which}`, () => undefined)),
    );
    await eventually(() => ran.length === 20);
    release();
    const expected = all.flatMap((_client, who) => Array.from({ length: 5 }, (_, which) => `${who}.${which}`));
    expect(await Promise.all(results)).toEqual(expected);
    expect(ran.sort()).toEqual(expected);
    expect(cuts).toBeGreaterThan(3);
  });

  it('loses none while the network is gone, as long as the history lasts', async () => {
    await start({ stream: 'always' });
    const client = await connect();
    const results = [call(client, 'wait', 'a'), call(client, 'wait', 'b')];
    for (const text of ['a', 'b'])
      await proxy.find(({ sent, received }) => sent.includes(`"text":"${text}"`) && received.includes('id: '));
    proxy.down();
    release();
    const before = proxy.count;
    await eventually(() => proxy.count > before + 3, 'the client tries again');
    proxy.up();
    expect(await Promise.all(results)).toEqual(['a', 'b']);
  });

  it('fails in words where the reply was no stream, and the session goes on', async () => {
    await start();
    const client = await connect();
    proxy.onData = ({ sent }, direction) => direction === 'up' || !sent.includes('"text":"lost"');
    const error = await call(client, 'echo', 'lost');
    expect(error).toMatch(/fetch failed|terminated|socket|reset/i);
    expect(error).not.toMatch(silence);
    proxy.onData = undefined;
    expect(await call(client, 'echo', 'found')).toBe('found');
    expect(ran).toEqual(['lost', 'found']);
  });

  it('fails in words where the request never came through, and the tool has not run', async () => {
    await start();
    const client = await connect();
    proxy.onData = ({ sent }, direction) => direction === 'down' || !sent.includes('"text":"lost"');
    expect(await call(client, 'echo', 'lost')).toMatch(/fetch failed|socket|reset/i);
    expect(ran).toEqual([]);
  });
});

describe('a connection that stalls', () => {
  it('delivers when it goes on', async () => {
    await start({ keepAliveMs: 50 });
    const client = await connect();
    const result = call(client, 'wait', 'late', () => undefined);
    const connection = await proxy.find(({ received }) => received.includes('"progress":1'));
    connection.stall('down');
    release();
    await eventually(() => /"result"/.test(connection.received));
    connection.release('down');
    expect(await result).toBe('late');
  });

  it('delivers on another one where it never does', async () => {
    await start();
    const client = await connect();
    const result = call(client, 'wait', 'rescued', () => undefined);
    const connection = await proxy.find(({ received }) => received.includes('"progress":1'));
    connection.stall('down');
    release();
    await eventually(() => connection.received.includes('"result"'));
    connection.cut();
    expect(await result).toBe('rescued');
  });
});

describe('slow and half-closed connections', () => {
  it.each(['up', 'down'] as const)('deliver one byte at a time (%s)', async (direction) => {
    await start({ stream: 'always' });
    proxy.weather = { byteAtATime: direction };
    const client = await connect();
    expect(await call(client, 'echo', 'sl\u00f6w \ud83d\ude00 \u2028')).toBe('sl\u00f6w \ud83d\ude00 \u2028');
  });

  it('resume a stream that the server has half-closed', async () => {
    await start({ stream: 'always' });
    const client = await connect();
    const result = call(client, 'wait', 'resumed');
    const connection = await proxy.find(({ sent, received }) => sent.includes('"wait"') && received.includes('id: '));
    connection.halfClose('down');
    release();
    expect(await result).toBe('resumed');
  });

  it('run nothing of an upload that ends too early, and leave nothing behind', async () => {
    await start();
    const session = await legacySession({ url });
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'echo', arguments: { text: 'half' } },
    });
    const socket = connectSocket({ port: proxy.port, host: '127.0.0.1' });
    const head = ['POST / HTTP/1.1', 'Host: 127.0.0.1', 'Content-Type: application/json'];
    const fields = Object.entries(session.headers).map(([name, value]) => `${name}: ${String(value)}`);
    socket.end([...head, ...fields, `Content-Length: ${body.length}`, '', body.slice(0, -5)].join('\r\n'));
    socket.resume();
    await once(socket, 'close');
    expect(ran).toEqual([]);
    expect(served.errors).toEqual([]);
    expect(textOf(await session.callTool('echo', { text: 'whole' }))).toBe('whole');
  });
});

describe('GET and POST that arrive in another order than they were sent', () => {
  it('lose nothing: the real client calls before its stream has come through', async () => {
    await start();
    let late: ProxyConnection | undefined;
    proxy.onData = (connection, direction, piece) => {
      if (direction === 'up' && piece.toString('latin1').startsWith('GET ')) (late = connection).stall('up');
      return true;
    };
    const client = await connect();
    await eventually(() => late !== undefined);
    const before = late!.received;
    expect(await call(client, 'echo', 'early')).toBe('early');
    expect(late!.received).toBe(before);
    const heard = new Promise<void>((resolve) => {
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve());
    });
    proxy.onData = undefined;
    late!.release('up');
    await eventually(() => late!.received !== before);
    served.server.notifyToolsChanged();
    await heard;
  });

  it('lose nothing: calls before the stream, the stream before the initialized notification', async () => {
    await start();
    const session = await legacySession({ url }, { initialized: false });
    // The stream first.
    const stream = await session.get();
    expect(stream.status).toBe(200);
    // A call overtakes the notification.
    expect(textOf(await session.callTool('echo', { text: 'early' }))).toBe('early');
    expect((await session.notify('notifications/initialized')).status).toBe(202);
    served.server.notifyToolsChanged();
    await stream.find(({ method }) => method === 'notifications/tools/list_changed');
    stream.close();
  });

  it('resume a stream whose old connection is not known to be dead yet', async () => {
    await start({ stream: 'always' });
    const session = await legacySession({ url });
    const first = await session.stream('tools/call', { name: 'wait', arguments: { text: 'x' } });
    const primed = await first.next();
    const old = await proxy.find(({ sent }) => sent.includes('"wait"'));
    old.stall('down');
    const resumed = await session.get({ 'Last-Event-ID': primed!.id });
    release();
    const answer = await resumed.find((message) => 'result' in message);
    expect(answer.result).toMatchObject({ content: [{ text: 'x' }] });
    old.release('down');
    await first.ended;
    // The result came once.
    expect(first.events.filter(({ message }) => message !== undefined && 'result' in message)).toEqual([]);
  });
});
