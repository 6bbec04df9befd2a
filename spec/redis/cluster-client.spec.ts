/** Sessions in a Redis Cluster of three masters, through the client that `createCluster` makes. */
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { redisSessions } from 'express-mcp/redis';
import { createCluster } from 'redis';
import { eventually } from '../support/eventually';
import type { Fixture } from '../support/fixture';
import { createFixture } from '../support/fixture';
import { useNodes } from '../support/nodes';
import { describeRedis, freePort } from '../support/redis';
import { legacySession, textOf } from '../support/wire';
import type { LegacySession, Message } from '../support/wire';

describeRedis('With a Redis Cluster,', () => {
  const folder = mkdtempSync(join(tmpdir(), 'redis-cluster-'));
  const masters: { port: number; process: ChildProcess }[] = [];
  let fixture: Fixture;
  let sessions: LegacySession[];

  function startMaster(port: number): ChildProcess {
    const settings = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    const own = ['--cluster-enabled', 'yes', '--cluster-config-file', `${port}.conf`, '--dir', folder];
    return spawn('redis-server', [...settings, ...own], { stdio: 'ignore' });
  }

  const cli = (port: number, ...words: string[]) =>
    execFileSync('redis-cli', ['-p', String(port), ...words], { encoding: 'utf8' });
  const isUp = (port: number) => {
    try {
      return cli(port, 'cluster', 'info').includes('cluster_state:ok');
    } catch {
      return false; // it does not listen yet
    }
  };
  const answers = (port: number) => {
    try {
      return cli(port, 'ping').startsWith('PONG');
    } catch {
      return false;
    }
  };

  beforeAll(async () => {
    for (let n = 0; n < 3; n++) {
      const port = await freeBusPort();
      masters.push({ port, process: startMaster(port) });
    }
    await eventually(() => masters.every(({ port }) => answers(port)));
    const addresses = masters.map(({ port }) => `127.0.0.1:${port}`);
    execFileSync('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-yes'], { stdio: 'ignore' });
    await eventually(() => masters.every(({ port }) => isUp(port)));

    useNodes(() =>
      [1, 2, 3].map(() => {
        const client = createCluster({
          rootNodes: addresses.map((address) => ({ url: `redis://${address}` })),
          defaults: {
            disableOfflineQueue: true,
            pingInterval: 5_000,
            socket: { socketTimeout: 10_000, reconnectStrategy: (retries) => 50 * retries },
          },
        });
        return redisSessions({ client });
      }),
    );
    fixture = await createFixture();
    // Enough for every master to have some.
    sessions = await Promise.all(
      Array.from({ length: 12 }, () => legacySession(fixture, { capabilities: { elicitation: {} } })),
    );
  }, 60_000);

  afterAll(async () => {
    useNodes(undefined);
    await fixture?.close();
    for (const { process } of masters) {
      const gone = once(process, 'exit');
      process.kill('SIGKILL');
      await gone;
    }
    rmSync(folder, { recursive: true, force: true });
  });

  /** Tries again while Redis is not all there. */
  async function nextSession(): Promise<LegacySession> {
    for (;;) {
      const session = await legacySession(fixture).catch(() => delay(50));
      if (session !== undefined) return session;
    }
  }

  it('any node answers for sessions on any master', async () => {
    for (const session of sessions)
      for (let n = 0; n < 3; n++) expect(textOf(await session.callTool('echo', { text: `${n}` }))).toBe(`${n}`);
  });

  it('a change that one node tells reaches streams on all', async () => {
    const streams = await Promise.all(sessions.map((session) => session.get()));
    fixture.server.notifyToolsChanged();
    const changed = ({ method }: Message) => method === 'notifications/tools/list_changed';
    for (const stream of streams) await stream.find(changed);
    streams.forEach((stream) => stream.close());
  });

  it('an answer finds the node that has asked', async () => {
    for (const session of sessions) {
      const call = await session.stream('tools/call', { name: 'ask', arguments: {} }, { id: 'call' });
      const { id } = await call.find(({ method }) => method === 'elicitation/create');
      const result = { action: 'accept', content: { name: 'Ada' } };
      expect((await session.post({ jsonrpc: '2.0', id, result })).status).toBe(202);
      expect(JSON.stringify(await call.find((message) => message.id === 'call'))).toContain('Ada');
    }
  });

  it('a question of a call that takes JSON only reaches the stream that is read on any node', async () => {
    for (const session of sessions) {
      const stream = await session.get();
      const call = session.callTool('ask', {}, { headers: { Accept: 'application/json' } });
      const { id } = await stream.find(({ method }) => method === 'elicitation/create');
      const result = { action: 'accept', content: { name: 'Ada' } };
      expect((await session.post({ jsonrpc: '2.0', id, result })).status).toBe(202);
      expect((await call).text).toContain('Ada');
      stream.close();
    }
  });

  it('DELETE ends a session on all nodes', async () => {
    const session = sessions.pop()!;
    const stream = await session.get();
    expect((await session.delete()).status).toBe(204);
    await stream.ended;
    for (let n = 0; n < 3; n++) expect((await session.request('ping')).status).toBe(404);
  });

  it('sessions on a master that is away are 503, and the others go on; afterwards all is well', async () => {
    const [first] = masters;
    const gone = once(first!.process, 'exit');
    first!.process.kill('SIGKILL');
    await gone;
    const statuses = await Promise.all(sessions.map(async (session) => (await session.request('ping')).status));
    expect([...new Set(statuses)].sort()).toEqual([200, 503]);
    first!.process = startMaster(first!.port);
    await eventually(() => masters.every(({ port }) => isUp(port)));
    // It has come back empty: its sessions are gone, and new ones can be opened.
    const stream = await (await nextSession()).get();
    fixture.server.notifyToolsChanged();
    await stream.find(({ method }) => method === 'notifications/tools/list_changed');
    stream.close();
  }, 60_000);
});

/** A port whose cluster bus, 10,000 above it, has one too. */
async function freeBusPort(): Promise<number> {
  for (;;) {
    const port = await freePort();
    if (port <= 55_535) return port;
  }
}
