/** `examples/cluster.ts`: one session, three processes; and what it says where one of its ports is taken. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Server } from 'node:net';
import { endExamples, freePort, runExample, startExample } from '../support/example';
import { createRedis, describeRedis } from '../support/redis';
import { legacySession, textOf } from '../support/wire';

const taken: Server[] = [];

afterEach(async () => {
  await endExamples();
  for (const server of taken.splice(0)) await once(server.close(), 'close');
});

describeRedis('the example cluster', () => {
  it('answers one session from three processes', async () => {
    // Its own would outlive the way in which specs end examples.
    const redis = await createRedis();
    try {
      const PORT = String(await freeRow());
      const example = await startExample('cluster', { PORT, REDIS_URL: redis.url });
      const session = await legacySession(example);
      const answers = new Set<string>();
      for (let n = 0; n < 6; n += 1) answers.add(textOf(await session.callTool('whoami', {})));
      expect(answers.size).toBe(3);
      expect(example.output).toBe(`MCP endpoint: ${example.url}\n`);
    } finally {
      await endExamples();
      await redis.close();
    }
  }, 60_000);

  it('says so at once, and ends, when something else has the port of its Redis', async () => {
    const first = await freeRow();
    await take(first + 4);
    const example = await runExample('cluster', { PORT: String(first), REDIS_URL: undefined });
    expect(await example.ended).toBe(1);
    expect(example.output).toBe(`redis-server has ended; is port ${first + 4} taken?\n`);
  }, 60_000);
});

describe('the example cluster, without Redis', () => {
  it('ends, and announces nothing, when one of its processes cannot listen', async () => {
    const first = await freeRow();
    await take(first + 2);
    const redis = `redis://127.0.0.1:${await freePort()}`;
    const example = await runExample('cluster', { PORT: String(first), REDIS_URL: redis });
    expect(await example.ended).toBe(1);
    expect(example.output).toContain('EADDRINUSE');
    expect(example.output).not.toContain('MCP endpoint');
  }, 60_000);

  it('says what to do when there is no redis-server, and ends with its processes', async () => {
    const PORT = String(await freeRow());
    const example = await runExample('cluster', { PORT, PATH: '', REDIS_URL: undefined });
    // Its processes hold its output open for as long as they live.
    expect(await example.ended).toBe(1);
    expect(example.output).toBe('redis-server is not installed; set REDIS_URL\n');
  }, 60_000);
});

async function take(port: number): Promise<void> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  taken.push(server);
}

/** The first of five free ports: below those that connections get, so that none of them is in the way. */
async function freeRow(): Promise<number> {
  for (;;) {
    const first = 20_000 + Math.floor(Math.random() * 10_000);
    try {
      for (let port = first; port < first + 5; port += 1) await take(port);
      return first;
    } catch {
      // Another row, then.
    } finally {
      for (const server of taken.splice(0)) await once(server.close(), 'close');
    }
  }
}
