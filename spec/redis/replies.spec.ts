/** What becomes of replies' streams while Redis is away, and when their nodes die at their very beginning. */
import type { Response } from 'express';
import { createCluster } from '../support/cluster';
import type { Cluster } from '../support/cluster';
import { eventually } from '../support/eventually';
import { createRedis, describeRedis } from '../support/redis';
import type { Redis } from '../support/redis';
import { legacySession, modern, textOf } from '../support/wire';
import type { LegacySession, Stream } from '../support/wire';

describeRedis('A reply that becomes a stream', () => {
  let redis: Redis;
  let cluster: Cluster;
  let session: LegacySession;
  let goOn: () => void;
  let paused: Promise<void>;
  /** What the latest request is answered with. */
  let last: Response;
  beforeAll(async () => {
    redis = await createRedis();
  });
  beforeEach(async () => {
    const released = new Promise<void>((resolve) => (goOn = resolve));
    let tell: () => void;
    paused = new Promise((resolve) => (tell = resolve));
    cluster = await createCluster(redis, {
      router: { historyBytes: 50_000 },
      before: [(_req, res, next) => ((last = res), next())],
      setup(server) {
        server.registerTool('late', { description: 'Reports once Redis is away' }, async (_, ctx) => {
          redis.pause();
          ctx.progress(1);
          tell();
          await released;
          ctx.progress(2);
          return 'done';
        });
        server.registerTool('much', { description: 'Says more than is kept of a stream' }, async (_, ctx) => {
          ctx.closeStream();
          await released;
          return 'x'.repeat(100_000);
        });
        server.registerTool('report-and-wait', { description: 'Reports, and waits' }, async (_, ctx) => {
          ctx.progress(1);
          await released;
          return 'done';
        });
      },
    });
    session = await legacySession(cluster);
  });
  afterEach(() => {
    redis.resume();
    goOn();
    return cluster.close();
  });
  afterAll(() => redis.close());

  const get = (node: number, lastEventId: string) =>
    session.at(cluster.nodes[node]!).get({ 'Last-Event-ID': lastEventId });
  const callLate = () => call('late');
  const call = (name: string) =>
    session
      .at(cluster.nodes[0]!)
      .stream('tools/call', { name, arguments: {}, _meta: { progressToken: 't' } }, { id: 7 });
  const progressed = ({ method }: { method?: string }) => method === 'notifications/progress';

  it('gives no event id away before any node could resume after it', async () => {
    let opened = false;
    const opening = callLate().finally(() => (opened = true));
    await paused;
    // Others go on meanwhile: there and back, ten times.
    for (let n = 0; n < 10; n += 1)
      expect(textOf(await modern(cluster.nodes[0]!).callTool('echo', { text: 'x' }))).toContain('x');
    expect(opened).toBe(false);
    redis.resume();
    const reply = await opening;
    await reply.find(progressed);
    expect(reply.events[0]).toMatchObject({ data: '', id: expect.any(String) });
    const resumed = await get(1, reply.events[0]!.id!);
    expect(resumed.status).toBe(200);
    goOn();
    await resumed.find(({ id }) => id === 7);
    await resumed.ended;
  });

  it('does not make a result wait for Redis: it comes without event ids', async () => {
    const opening = callLate();
    goOn();
    const reply = await opening;
    await reply.find(({ id }) => id === 7);
    await reply.ended;
    expect(reply.events.map(({ id, message }) => [id, message?.params?.progress])).toEqual([
      [undefined, 1],
      [undefined, 2],
      [undefined, undefined],
    ]);
  });

  it('has its result on every node, however much that is', async () => {
    const reply = await call('much');
    await reply.ended;
    goOn();
    for (const node of [0, 1, 1, 2]) {
      const resumed = await get(node, reply.events[0]!.id!);
      const { result } = await resumed.find(({ id }) => id === 7);
      expect(JSON.stringify(result)).toHaveLength(100_000 + '{"content":[{"type":"text","text":""}]}'.length);
      await resumed.ended;
    }
  });

  it('leaves alone what a host has answered while it waited', async () => {
    const opening = callLate();
    await paused;
    last.status(504).write('too late');
    const { status, ended } = await opening;
    expect(status).toBe(504);
    redis.resume();
    goOn();
    const { errors, router } = cluster.nodes[0]!;
    await eventually(() => router.stats().calls === 0);
    last.end();
    await ended;
    expect(errors.filter((error) => !String(error).includes('Redis: '))).toEqual([]);
    expect(textOf(await modern(cluster.nodes[0]!).callTool('echo', { text: 'alive' }))).toContain('alive');
  });

  it('is resumed later, where its node has yet to tell what the client has seen', async () => {
    const reply = await call('report-and-wait');
    await reply.find(progressed);
    const { shared } = cluster.nodes[0]!.sessions;
    const told = shared.streams.appendReply;
    const untold = jest.spyOn(shared.streams, 'appendReply').mockRejectedValue(new Error('Redis is slow'));
    goOn();
    await reply.find(({ id }) => id === 7);
    await reply.ended;
    const lastSeen = reply.events.at(-1)!.id!;
    const early = await get(1, lastSeen);
    expect([early.status, early.headers['retry-after']]).toEqual([503, expect.any(String)]);
    const waiting = get(2, lastSeen);
    untold.mockImplementation(told);
    const resumed = await waiting;
    expect(resumed.status).toBe(200);
    await resumed.ended;
  });

  it('is answered once, although its node was only taken for dead', async () => {
    const reply = await call('report-and-wait');
    await reply.find(progressed);
    const [first, other] = cluster.nodes.map(({ sessions }) => sessions.shared);
    const [, streamId] = reply.events[0]!.id!.split('.');
    await other!.streams.abandon(session.sessionId, streamId!, first!.node);
    const resumed = await get(1, reply.events[0]!.id!);
    await reply.ended;
    goOn();
    await cluster.nodes[0]!.router.close();
    await resumed.find(({ id }) => id === 7);
    await resumed.ended;
    const again = await get(2, reply.events[0]!.id!);
    await again.ended;
    for (const { events } of [resumed, again])
      expect(events.flatMap(({ message }) => (message?.id === 7 ? message.error?.message : []))).toEqual([
        expect.stringContaining('has ended'),
      ]);
  });

  it('is the same on its own node, once that knows that it was taken for dead', async () => {
    const reply = await call('report-and-wait');
    await reply.find(progressed);
    const [first, other] = cluster.nodes.map(({ sessions }) => sessions.shared);
    const [, streamId] = reply.events[0]!.id!.split('.');
    await other!.streams.abandon(session.sessionId, streamId!, first!.node);
    const told = jest.spyOn(first!.streams, 'appendReply');
    goOn();
    await eventually(() => told.mock.results.length > 0);
    expect(await told.mock.results[0]!.value).toBe('abandoned');
    await reply.ended;
    const again = await get(0, reply.events[0]!.id!);
    await again.ended;
    expect(again.events.flatMap(({ message }) => message?.error?.message ?? [])).toEqual([
      expect.stringContaining('has ended'),
    ]);
  });

  describe('and lets its connection go', () => {
    let closed: number;
    beforeEach(() => {
      closed = 0;
      cluster.nodes[0]!.server.registerTool('leave', { description: 'Lets go twice' }, async (_, ctx) => {
        for (let times = 0; times < 2; times += 1) {
          ctx.progress(times + 1);
          // That it is read elsewhere may reach this node after the reader's answer reaches the client.
          await eventually(() => ctx.closeStream());
          closed += 1;
          await new Promise<void>((resolve) => (goOn = resolve));
        }
        return 'left';
      });
    });
    const callLeave = () => call('leave');
    const progressIn = ({ events }: Stream) => events.flatMap(({ message }) => message?.params?.progress ?? []);

    it('does so once the client can come back', async () => {
      const reply = await callLeave();
      await reply.ended;
      expect(reply.events[0]).toMatchObject({ data: '', id: expect.any(String), retry: expect.any(Number) });
      expect(progressIn(reply)).toEqual([1]);
      expect(closed).toBe(1);
    });

    // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
    it.each([
      ['another node', 1, 2],
      ['another node, twice the same', 1, 1],
      ['its own node', 0, 1],
      ['its own node at last', 1, 0],
    ])('closes it where it is read: on %s', async (_, second, third) => {
      const reply = await callLeave();
      await reply.ended;
      const again = await get(second, reply.events.at(-1)!.id!);
      goOn();
      await again.ended;
      expect(progressIn(again)).toEqual([2]);
      goOn();
      const last = await get(third, again.events.at(-1)!.id!);
      expect(JSON.stringify(await last.find(({ id }) => id === 7))).toContain('left');
      await last.ended;
      expect(closed).toBe(2);
    });
  });
});
