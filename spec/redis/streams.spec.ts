/** What a session is told, on whichever node it listens, resumes and answers. */
import { createCluster } from '../support/cluster';
import type { Cluster } from '../support/cluster';
import { eventually } from '../support/eventually';
import { createRedis, describeRedis } from '../support/redis';
import type { Redis } from '../support/redis';
import { legacySession, modern, post } from '../support/wire';
import type { LegacySession, Message, Stream } from '../support/wire';

describeRedis('Streams on several nodes', () => {
  let redis: Redis;
  let cluster: Cluster;
  beforeAll(async () => {
    redis = await createRedis();
  });
  beforeEach(async () => {
    cluster = await createCluster(redis);
  });
  afterEach(() => cluster.close());
  afterAll(() => redis.close());

  const get = (node: number, session: LegacySession, lastEventId?: string) =>
    session.at(cluster.nodes[node]!).get({ 'Last-Event-ID': lastEventId });
  const call = (node: number, session: LegacySession, name: string, id = 7, meta?: object) =>
    session.at(cluster.nodes[node]!).stream('tools/call', { name, arguments: {}, _meta: meta }, { id });
  const changed = ({ method }: Message) => method === 'notifications/tools/list_changed';
  const said = ({ method }: Message) => method === 'notifications/message';
  const answered = ({ id }: Message) => id === 7;
  const lastIdOf = ({ events }: Stream) => events.at(-1)!.id!;

  it('carry what any node says, once', async () => {
    const session = await legacySession(cluster);
    const stream = await get(0, session);
    for (const { server } of cluster.nodes) {
      server.notify('notifications/message', { level: 'info', data: 0 });
      await stream.find(said);
    }
    cluster.nodes[1]!.server.notifyToolsChanged();
    await stream.find(changed);
    expect(stream.events.filter(({ message }) => message !== undefined)).toHaveLength(4);
    stream.close();
  });

  it('carry updates of a resource that was subscribed to on another node', async () => {
    const session = await legacySession(cluster);
    const stream = await get(0, session);
    const body = { jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri: 'file:///readme.txt' } };
    expect((await post(cluster.nodes[1]!.url, body, session.headers)).status).toBe(200);
    cluster.nodes[2]!.server.notifyResourceUpdated('file:///other.txt');
    cluster.nodes[2]!.server.notifyResourceUpdated('file:///readme.txt');
    const update = await stream.find(({ method }) => method === 'notifications/resources/updated');
    expect(update.params).toMatchObject({ uri: 'file:///readme.txt' });
    stream.close();
  });

  it('tell a session that has never listened what has changed since it was opened', async () => {
    cluster.nodes[0]!.server.notifyPromptsChanged();
    await eventually(() => cluster.nodes.every(({ router }) => router.stats().sessions === 0));
    const session = await legacySession(cluster);
    cluster.nodes[1]!.server.notifyToolsChanged();
    cluster.nodes[2]!.server.notifyToolsChanged();
    const seen = await redis.command('ZCARD', `{${cluster.prefix}}:notices`);
    expect(seen).toBeGreaterThan(0);
    const stream = await get(2, session);
    await stream.find(changed);
    stream.close();
  });

  it('go on at another node with what the client has not seen', async () => {
    const session = await legacySession(cluster);
    const first = await get(0, session);
    const says = (n: number) => cluster.nodes[0]!.server.notify('notifications/message', { level: 'info', data: n });
    says(1);
    says(2);
    await first.find(({ params }) => params?.data === 2);
    const afterFirst = first.events.find(({ message }) => message?.params?.data === 1)!.id;
    first.close();
    says(3);
    const second = await get(1, session, afterFirst);
    says(4);
    await second.find(({ params }) => params?.data === 4);
    expect(second.events.flatMap(({ message }) => message?.params?.data ?? [])).toEqual([2, 3, 4]);
    second.close();
  });

  it('have what was said after the node that read them had died, once the client listens again', async () => {
    const session = await legacySession(cluster);
    const another = await legacySession(cluster);
    const says = (n: number) => cluster.nodes[2]!.server.notify('notifications/message', { level: 'info', data: n });
    const first = await get(0, session);
    says(1);
    await first.find(({ params }) => params?.data === 1);
    await cluster.nodes[0]!.sessions.shared.leave();
    first.close();
    says(2);
    cluster.nodes[2]!.server.notifyToolsChanged();
    says(3);
    const second = await get(1, session, lastIdOf(first));
    await second.find(({ params }) => params?.data === 3);
    expect(second.events.flatMap(({ message }) => message?.params?.data ?? message?.method ?? [])).toEqual([
      2,
      'notifications/tools/list_changed',
      3,
    ]);
    second.close();
    // Nobody has ever listened here: what was said is not for them.
    const third = await get(1, another);
    says(4);
    await third.find(({ params }) => params?.data === 4);
    expect(third.events.flatMap(({ message }) => message?.params?.data ?? message?.method ?? [])).toEqual([
      'notifications/tools/list_changed',
      4,
    ]);
    third.close();
  });

  it('carry once what Redis was told of too late to say so', async () => {
    const session = await legacySession(cluster);
    const stream = await get(0, session);
    const { server, errors } = cluster.nodes[1]!;
    redis.pause();
    server.notify('notifications/message', { level: 'info', data: 1 });
    await eventually(() => errors.some((error) => String(error).includes('no answer')));
    redis.resume();
    // Told after the first has been tried again.
    server.notify('notifications/message', { level: 'info', data: 2 });
    await stream.find(({ params }) => params?.data === 2);
    expect(stream.events.flatMap(({ message }) => message?.params?.data ?? [])).toEqual([1, 2]);
    stream.close();
  });

  it('are read on one node at a time', async () => {
    const session = await legacySession(cluster);
    const first = await get(0, session);
    const second = await get(1, session);
    await first.ended;
    cluster.nodes[2]!.server.notifyToolsChanged();
    await second.find(changed);
    expect(first.events.flatMap(({ message }) => message ?? [])).toEqual([]);
    second.close();
  });

  it('reach listeners of the modern era on all nodes', async () => {
    const streams = await Promise.all(
      cluster.nodes.map((node) =>
        modern(node).stream('subscriptions/listen', { notifications: { toolsListChanged: true } }),
      ),
    );
    for (const stream of streams) await stream.next();
    cluster.nodes[1]!.server.notifyToolsChanged();
    for (const stream of streams) await stream.find(changed);
    for (const stream of streams) stream.close();
  });

  it('of a reply are resumed on another node, the result included', async () => {
    const session = await legacySession(cluster);
    const reply = await call(0, session, 'report-and-hold', 7, { progressToken: 't' });
    await reply.find(({ method }) => method === 'notifications/progress');
    const priming = reply.events[0]!.id;
    reply.close();
    const resumed = await get(1, session, priming);
    await resumed.find(({ method }) => method === 'notifications/progress');
    await cluster.nodes[2]!.router.close({ graceMs: 0 });
    await cluster.nodes[0]!.router.close({ graceMs: 0 });
    await resumed.find(answered);
    await resumed.ended;
  });

  it('of a finished reply are replayed on every node', async () => {
    const session = await legacySession(cluster);
    const reply = await call(0, session, 'progress', 7, { progressToken: 't' });
    await reply.ended;
    for (const node of [1, 2, 0]) {
      const again = await get(node, session, reply.events[1]!.id);
      await again.ended;
      expect(again.events.flatMap(({ message }) => message ?? [])).toEqual(
        reply.events.slice(2).flatMap(({ message }) => message ?? []),
      );
    }
  });

  it('take an answer at one node to the question of another, once', async () => {
    const session = await legacySession(cluster, { capabilities: { elicitation: {} } });
    const reply = await call(0, session, 'ask');
    const question = await reply.find(({ method }) => method === 'elicitation/create');
    const answer = (name: string) => ({
      jsonrpc: '2.0',
      id: question.id,
      result: { action: 'accept', content: { name } },
    });
    expect((await post(cluster.nodes[1]!.url, answer('Ada'), session.headers)).status).toBe(202);
    expect((await post(cluster.nodes[2]!.url, answer('Eve'), session.headers)).status).toBe(202);
    const { result } = await reply.find(answered);
    expect(JSON.stringify(result)).toContain('Ada');
    await reply.ended;
  });

  it('take an answer for a node that does not listen for a moment', async () => {
    const session = await legacySession(cluster, { capabilities: { elicitation: {} } });
    const reply = await call(0, session, 'ask');
    const question = await reply.find(({ method }) => method === 'elicitation/create');
    const answer = { jsonrpc: '2.0', id: question.id, result: { action: 'accept', content: { name: 'Ada' } } };
    // Whoever sends it is told that nobody has heard it.
    const send = jest.spyOn(cluster.nodes[1]!.sessions.shared, 'send').mockResolvedValue(false);
    const refused = await post(cluster.nodes[1]!.url, answer, session.headers);
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5']);
    expect(send.mock.calls.length).toBeGreaterThan(10);
    send.mockRestore();
    jest.spyOn(cluster.nodes[1]!.sessions.shared, 'send').mockResolvedValueOnce(false).mockResolvedValueOnce(false);
    expect((await post(cluster.nodes[1]!.url, answer, session.headers)).status).toBe(202);
    expect(JSON.stringify(await reply.find(answered))).toContain('Ada');
    await reply.ended;
  });

  it.each([
    ['was closed', async (stream: Stream) => stream.close()],
    [
      'was read on a node that has died',
      async (stream: Stream) => {
        await cluster.nodes[0]!.sessions.shared.leave();
        stream.close();
      },
    ],
  ])('ask nobody, and say so at once, where the only stream of a client that takes JSON %s', async (_, end) => {
    const session = await legacySession(cluster, { capabilities: { elicitation: {} } });
    const stream = await get(0, session);
    await end(stream);
    await stream.ended;
    const open = () => cluster.nodes[0]!.router.stats().streams;
    await eventually(() => open() === 0);
    const body = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'ask', arguments: {} } };
    const { response } = await post(cluster.nodes[1]!.url, body, { ...session.headers, Accept: 'application/json' });
    expect(JSON.stringify(response)).toContain('The client has no stream to be asked on');
  });

  it('ask a client that takes JSON on its only stream, on another node', async () => {
    const session = await legacySession(cluster, { capabilities: { elicitation: {} } });
    const stream = await get(0, session);
    const body = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'ask', arguments: {} } };
    const reply = post(cluster.nodes[1]!.url, body, { ...session.headers, Accept: 'application/json' });
    const question = await stream.find(({ method }) => method === 'elicitation/create');
    const answer = { jsonrpc: '2.0', id: question.id, result: { action: 'decline' } };
    await post(cluster.nodes[2]!.url, answer, session.headers);
    expect(JSON.stringify((await reply).response)).toContain('decline');
    stream.close();
  });

  it('ask a client that has moved on to another node', async () => {
    const session = await legacySession(cluster, { capabilities: { elicitation: {} } });
    const reply = await call(0, session, 'ask');
    await reply.find(({ method }) => method === 'elicitation/create');
    reply.close();
    const resumed = await get(1, session, reply.events[0]!.id);
    const question = await resumed.find(({ method }) => method === 'elicitation/create');
    const answer = { jsonrpc: '2.0', id: question.id, result: { action: 'decline' } };
    await post(cluster.nodes[2]!.url, answer, session.headers);
    expect(JSON.stringify(await resumed.find(answered))).toContain('decline');
    await resumed.ended;
  });

  it('end with an error when the node that ran the call has died', async () => {
    const session = await legacySession(cluster);
    const dead = cluster.nodes[0]!;
    const reply = await call(0, session, 'report-and-hold', 7, { progressToken: 't' });
    await reply.find(({ method }) => method === 'notifications/progress');
    reply.close();
    // What it has not told by then dies with it.
    const [, streamId] = lastIdOf(reply).split('.');
    const events = `{${cluster.prefix}:${session.sessionId}}:e:${streamId}`;
    while ((await redis.command('XLEN', events)) !== 1);
    // As far as the others can tell.
    await dead.sessions.shared.leave();
    await redis.command('DEL', `${cluster.prefix}:node:${dead.sessions.shared.node}`);
    const resumed = await get(1, session, lastIdOf(reply));
    expect((await resumed.find(answered)).error?.message).toContain('has ended');
    await resumed.ended;
    expect((await session.request('ping')).status).toBeLessThanOrEqual(503);
  });
});
