/** A bad network between client and server: a TCP proxy on a loopback port that cuts, stalls and slows what passes. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';

/** `up` is what the client sends, `down` what the server answers. */
export type Direction = 'up' | 'down';

export interface ProxyConnection {
  /** What the client has sent so far, for finding a connection by its request. */
  readonly sent: string;
  /** What the server has answered so far. */
  readonly received: string;
  /** End both sides in the middle of whatever passes; what has been passed on arrives. */
  cut(): void;
  /** Hold back what one direction carries, until {@link ProxyConnection.release}. */
  stall(direction: Direction): void;
  release(direction: Direction): void;
  /** Say to one side that nothing more comes, and let the other direction be. */
  halfClose(direction: Direction): void;
}

/** What is decided anew for every connection. */
export interface Weather {
  /** Bytes are passed on one at a time. */
  byteAtATime?: Direction;
}

export interface TcpProxy {
  readonly port: number;
  /** Every connection that is open, in the order of their coming. */
  readonly connections: ReadonlySet<ProxyConnection>;
  /** How many there have been. */
  readonly count: number;
  /** For the connections to come. */
  weather: Weather;
  /** Decides about each piece, the last of `sent` or `received`; false cuts the connection instead of passing it on. */
  onData: ((connection: ProxyConnection, direction: Direction, piece: Buffer) => boolean) | undefined;
  /** A connection that satisfies `wanted`, now or as soon as there is one. */
  find(wanted: (connection: ProxyConnection) => boolean): Promise<ProxyConnection>;
  /** The network is gone: all connections, and no new ones, until `up()`. */
  down(): void;
  up(): void;
  close(): Promise<void>;
}

/** Begin to pass connections on to `targetPort`. */
export async function createTcpProxy(targetPort: number): Promise<TcpProxy> {
  const connections = new Set<ProxyConnection>();
  const waiting = new Set<() => void>();
  const changed = (): void => waiting.forEach((look) => look());
  let isDown = false;
  const server = createServer({ allowHalfOpen: true }, (client) => {
    proxy.count += 1;
    if (isDown) return void client.resetAndDestroy();
    const upstream = connect({ port: targetPort, host: '127.0.0.1', allowHalfOpen: true });
    const connection = join(client, upstream, proxy, changed);
    connections.add(connection);
    const gone = (): void => {
      connections.delete(connection);
      client.destroy();
      upstream.destroy();
    };
    // A reset on one side is one on the other.
    for (const socket of [client, upstream]) socket.on('error', gone);
    let open = 2;
    for (const socket of [client, upstream]) socket.on('close', () => void (--open === 0 && gone()));
    changed();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy: TcpProxy & { count: number } = {
    port: (server.address() as AddressInfo).port,
    connections,
    count: 0,
    weather: {},
    onData: undefined,
    find: (wanted) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = [...connections].find(wanted);
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
    down() {
      isDown = true;
      for (const connection of connections) connection.cut();
    },
    up: () => void (isDown = false),
    async close() {
      proxy.down();
      server.close();
      await once(server, 'close');
    },
  };
  return proxy;
}

function join(client: Socket, upstream: Socket, proxy: TcpProxy, changed: () => void): ProxyConnection {
  const { weather } = proxy;
  const texts = { up: '', down: '' };
  const held = new Map<Direction, (() => void)[]>();
  const targets = { up: upstream, down: client };
  const pass = (direction: Direction, action: () => void): void => {
    const queue = held.get(direction);
    if (queue === undefined) action();
    else queue.push(action);
  };
  const connection: ProxyConnection = {
    get sent() {
      return texts.up;
    },
    get received() {
      return texts.down;
    },
    cut() {
      client.destroySoon();
      upstream.destroy();
    },
    stall: (direction) => void (held.has(direction) || held.set(direction, [])),
    release(direction) {
      const queue = held.get(direction) ?? [];
      held.delete(direction);
      for (const action of queue) action();
    },
    halfClose: (direction) => void targets[direction].end(),
  };
  for (const direction of ['up', 'down'] as const) {
    const source = direction === 'up' ? client : upstream;
    const target = targets[direction];
    target.setNoDelay(true);
    const write = weather.byteAtATime === direction ? writeBytes(target) : writeAtOnce(target);
    source.on('data', (piece: Buffer) => {
      texts[direction] += piece.toString('latin1');
      if (proxy.onData?.(connection, direction, piece) === false) return connection.cut();
      pass(direction, () => write(piece));
      changed();
    });
    source.on('end', () => pass(direction, () => write(undefined)));
  }
  return connection;
}

function writeAtOnce(target: Socket): (piece: Buffer | undefined) => void {
  return (piece) => void (piece === undefined ? target.end() : target.write(piece));
}

/** Each byte on its own, the next once the last has left; undefined ends. */
function writeBytes(target: Socket): (piece: Buffer | undefined) => void {
  let last: Promise<void> = Promise.resolve();
  const writeSlowly = async (piece: Buffer): Promise<void> => {
    for (let at = 0; at < piece.length && target.writable; at += 1) {
      await new Promise((resolve) => target.write(piece.subarray(at, at + 1), resolve));
      await setImmediate();
    }
  };
  return (piece) => {
    last = last.then(() => (piece === undefined ? void target.end() : writeSlowly(piece)));
  };
}
