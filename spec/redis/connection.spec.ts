/** The connections of one node: they find their way back, whatever has happened to them. */
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createClient } from 'redis';
import { Connection } from '../../lib/redis/connection';
import { UnavailableError } from '../../lib/protocol/errors';
import { createRedis, describeRedis } from '../support/redis';
import type { Redis } from '../support/redis';
import { eventually } from '../support/eventually';

describeRedis('A connection to Redis', () => {
  let redis: Redis;
  let way: Way;
  const heard: string[] = [];
  const errors: unknown[] = [];
  let returns = 0;
  let connection: Connection;
  beforeAll(async () => {
    redis = await createRedis();
  });
  beforeEach(async () => {
    way = await createWay(redis.port);
    heard.length = errors.length = returns = 0;
  });
  afterEach(() => {
    connection.close();
    way.close();
  });
  afterAll(() => redis.close());

  function open(user = ''): void {
    connection = new Connection(createClient({ url: `redis://${user}127.0.0.1:${way.port}` }), {
      commandTimeoutMs: 50,
      silentMs: 100,
      channels: ['news'],
      hear: (message) => heard.push(message),
      onSpoiled: () => Promise.resolve(false),
      onReturn: () => (returns += 1),
      onError: (error) => errors.push(error),
    });
  }

  /** Reads are answered, and what is said is heard. */
  async function works(): Promise<void> {
    let reads = false;
    let hears = false;
    heard.length = 0;
    const tries = setInterval(() => {
      connection.readHash('nothing').then(
        () => (reads = true),
        () => undefined, // not yet
      );
      void redis.command('PUBLISH', 'news', 'new').then(() => (hears = heard.length > 0));
    }, 20);
    try {
      await eventually(() => reads && hears);
    } finally {
      clearInterval(tries);
    }
  }

  it('is made anew when the old one leads nowhere, although commands go on being sent', async () => {
    open();
    await works();
    way.swallow();
    await expect(connection.readHash('nothing')).rejects.toThrow(UnavailableError);
    await works();
    expect(returns).toBeGreaterThan(0);
    // What was replaced is closed.
    await eventually(() => way.size === 2);
  });

  it('is tried again when it may not listen at first', async () => {
    await redis.command('ACL', 'SETUSER', 'mcp', 'on', '>pw', '~*', 'resetchannels', '+@all');
    open('mcp:pw@');
    await eventually(() => errors.length > 0);
    await expect(connection.readHash('nothing')).rejects.toThrow(UnavailableError);
    await redis.command('ACL', 'SETUSER', 'mcp', 'allchannels');
    await works();
  });

  it('is tried again when it breaks while it is made', async () => {
    way.cutAt = 'subscribe';
    open();
    await works();
    expect(way.cutAt).toBeUndefined();
  });

  it('is tried again when nobody answers at first', async () => {
    way.swallowAll = true;
    open();
    await eventually(() => way.size === 2);
    way.swallowAll = false;
    await works();
  });

  it('is closed for good, also while it is made', async () => {
    way.swallowAll = true;
    open();
    const read = connection.readHash('nothing');
    await eventually(() => way.size === 2);
    connection.close();
    await expect(read).rejects.toThrow(UnavailableError);
    await expect(connection.readHash('nothing')).rejects.toThrow(UnavailableError);
    await eventually(() => way.size === 0);
  });
});

/** What is between a node and its Redis. */
interface Way {
  port: number;
  /** Connections of the node. */
  readonly size: number;
  /** A connection breaks when this is sent, once. */
  cutAt: string | undefined;
  /** Connections are accepted, and nothing is passed on. */
  swallowAll: boolean;
  /** Nothing is passed on any more on those that are there. */
  swallow(): void;
  close(): void;
}

async function createWay(to: number): Promise<Way> {
  const sockets = new Map<Socket, { swallowed: boolean }>();
  const server: Server = createServer((socket) => {
    const state = { swallowed: way.swallowAll };
    sockets.set(socket, state);
    const onward = connect(to, '127.0.0.1');
    socket.on('data', (data) => {
      if (way.cutAt !== undefined && String(data).toLowerCase().includes(way.cutAt)) {
        way.cutAt = undefined;
        socket.destroy();
      } else if (!state.swallowed) onward.write(data);
    });
    onward.on('data', (data) => void (state.swallowed || socket.write(data)));
    for (const end of [socket, onward]) end.on('error', () => undefined);
    socket.on('close', () => {
      sockets.delete(socket);
      onward.destroy();
    });
    onward.on('close', () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const way: Way = {
    port: (server.address() as AddressInfo).port,
    get size() {
      return sockets.size;
    },
    cutAt: undefined,
    swallowAll: false,
    swallow() {
      for (const state of sockets.values()) state.swallowed = true;
    },
    close() {
      server.close();
      for (const socket of sockets.keys()) socket.destroy();
    },
  };
  return way;
}
