/** notifications(), listen() and onProgress: what a server says besides its answers. */
import { McpServer } from 'express-mcp';
import { connect } from 'express-mcp/testing';
import type { ConnectOptions, TestClient } from 'express-mcp/testing';
import { Notices } from '../../lib/testing/notices';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { modernRevision } from '../support/schema';

const clients: TestClient[] = [];
let fixture: Fixture;

beforeAll(async () => {
  fixture = await createFixture({
    setup(server) {
      server.registerTool('logs', {}, (_args, ctx) => {
        ctx.log('debug', 'small');
        ctx.log('error', { big: true }, 'disk');
        return 'logged';
      });
    },
  });
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});
afterAll(() => fixture.close());

async function open(door: 'server' | 'app', options: ConnectOptions): Promise<TestClient> {
  const client = await connect(fixture[door], options);
  clients.push(client);
  return client;
}

const ways = (['server', 'app'] as const).flatMap((door) =>
  (['2025-11-25', modernRevision] as const).map((revision) => [door, revision] as const),
);

describe.each(ways)('a client of the %s in %s', (door, revision) => {
  it('hears of progress, and asks for it only then', async () => {
    const client = await open(door, { revision });
    const heard = client.notifications();
    await client.callTool('progress');
    const steps: unknown[] = [];
    await client.callTool('progress', {}, { onProgress: (progress) => void steps.push(progress) });
    expect(steps).toMatchObject([1, 2, 3].map((progress) => ({ progress, total: 3, message: `step ${progress}` })));
    await client.close();
    const methods = [];
    for await (const { method } of heard) methods.push(method);
    expect(methods).toEqual(Array(3).fill('notifications/progress'));
  });

  it('fails the call when onProgress throws', async () => {
    const client = await open(door, { revision });
    const onProgress = () => {
      throw new Error('an assertion');
    };
    await expect(client.callTool('progress', {}, { onProgress })).rejects.toThrow('an assertion');
  });

  it('gets the log messages it wants', async () => {
    const client = await open(door, { revision, logLevel: 'warning' });
    const heard = client.notifications();
    await client.callTool('logs');
    expect((await heard.next()).value).toMatchObject({
      method: 'notifications/message',
      params: { level: 'error', logger: 'disk', data: { big: true } },
    });
    await client.close();
    expect(await heard.next()).toEqual({ done: true, value: undefined });
  });

  it('hears of the changes it listens to', async () => {
    const client = await open(door, { revision });
    const heard = client.notifications();
    const filter = { toolsListChanged: true, resourceSubscriptions: ['file:///readme.txt'] };
    const listening = await client.listen(filter);
    expect(listening.filter).toEqual(filter);
    fixture.server.notifyResourceUpdated('file:///other.txt');
    fixture.server.notifyResourceUpdated('file:///readme.txt');
    expect((await heard.next()).value).toMatchObject({
      method: 'notifications/resources/updated',
      params: { uri: 'file:///readme.txt' },
    });
    fixture.server.notifyToolsChanged();
    expect((await heard.next()).value).toMatchObject({ method: 'notifications/tools/list_changed' });
    await listening.close();
    await listening.ended;
    fixture.server.notifyResourceUpdated('file:///readme.txt');
    await client.callTool('nothing');
    await client.close();
    expect(await heard.next()).toEqual({ done: true, value: undefined });
  });

  it('ends its subscriptions when it is closed', async () => {
    const client = await open(door, { revision });
    const { ended } = await client.listen({ promptsListChanged: true });
    await client.close();
    if (revision === modernRevision) await ended;
    while (fixture.router.stats().streams > 0) await new Promise(setImmediate);
  });
});

describe('listen()', () => {
  it('tells what the server does not grant', async () => {
    for (const revision of ['2025-11-25', modernRevision]) {
      const server = new McpServer({ name: 'bare', version: '1' });
      server.registerTool('t', {}, () => 't');
      const client = await connect(server, { revision });
      clients.push(client);
      const { filter } = await client.listen({ toolsListChanged: true, promptsListChanged: true });
      expect(filter).toEqual({ toolsListChanged: true });
    }
  });

  it('rejects where the server refuses', async () => {
    const client = await open('app', {});
    const broken = { resourceSubscriptions: 7 } as unknown as { resourceSubscriptions: string[] };
    await expect(client.listen(broken)).rejects.toMatchObject({ code: -32602 });
  });

  it('ends when the server ends it', async () => {
    const own = await createFixture();
    const client = await connect(own.url);
    clients.push(client);
    const { ended } = await client.listen({ toolsListChanged: true });
    await own.close();
    await ended;
  });
});

describe('an iterator of notifications', () => {
  const notice = (n: number) => ({ jsonrpc: '2.0', method: `n/${n}` }) as const;

  it('is its own: each hears everything from its beginning on', async () => {
    const notices = new Notices();
    const early = notices.subscribe();
    notices.add(notice(1));
    const late = notices.subscribe();
    notices.add(notice(2));
    notices.close();
    notices.add(notice(3));
    const read = async (iterator: AsyncIterable<{ method: string }>) => {
      const methods = [];
      for await (const { method } of iterator) methods.push(method);
      return methods;
    };
    expect([await read(early), await read(late), await read(notices.subscribe())]).toEqual([
      ['n/1', 'n/2'],
      ['n/2'],
      [],
    ]);
  });

  it('wakes whoever waits, also at its end', async () => {
    const notices = new Notices();
    const iterator = notices.subscribe();
    const [first, second, third] = [iterator.next(), iterator.next(), iterator.next()];
    notices.add(notice(1));
    notices.add(notice(2));
    expect([await first, await second]).toMatchObject([{ value: notice(1) }, { value: notice(2) }]);
    notices.close();
    expect(await third).toEqual({ done: true, value: undefined });
  });

  it('ends with its loop', async () => {
    const notices = new Notices();
    const iterator = notices.subscribe();
    notices.add(notice(1));
    for await (const { method } of iterator) {
      expect(method).toBe('n/1');
      break;
    }
    notices.add(notice(2));
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  it('fails when too much is unread, and holds no more', async () => {
    const notices = new Notices();
    const iterator = notices.subscribe();
    for (let n = 0; n < 20_000; n += 1) notices.add(notice(n));
    await expect(iterator.next()).rejects.toThrow('More than 10000 notifications are unread');
  });
});
