/** What waits for a session's stream: merged where it can be, bounded, and never dropped in silence. */
import type { SessionEnd } from '../../lib/http/options';
import { eventually } from '../support/eventually';
import { createFixture } from '../support/fixture';
import type { Fixture, FixtureOptions } from '../support/fixture';
import { legacySession } from '../support/wire';
import type { LegacySession } from '../support/wire';

let fixture: Fixture;
let session: LegacySession;
let ends: SessionEnd[];
afterEach(() => fixture.close());
async function start(router: FixtureOptions['router'] = {}): Promise<void> {
  ends = [];
  fixture = await createFixture({ router: { onSessionEnd: (end) => ends.push(end), ...router } });
  session = await legacySession(fixture);
}

/** Tell every session something that cannot be merged. */
function say(data: string): void {
  fixture.server.notify('notifications/message', { level: 'info', data });
}

/** A session that has opened its stream once, and reads it no more. */
async function listenedOnce(): Promise<void> {
  const stream = await session.get();
  stream.close();
  await eventually(() => fixture.router.stats().streams === 0);
}

/** Resolves once so much waits. */
function holds(count: number): Promise<void> {
  return eventually(() => fixture.router.stats().inbox === count);
}

/** Resolves once the session has failed for what waits. */
async function full(): Promise<void> {
  await eventually(() => ends.length > 0);
  expect(ends).toEqual([{ sessionId: session.sessionId, principal: undefined, reason: 'inbox-full' }]);
}

/** What waits, as its stream gives it. */
async function waiting(count: number): Promise<unknown[]> {
  const stream = await session.get();
  const said: unknown[] = [];
  while (said.length < count) {
    const { method, params } = await stream.find(() => true);
    said.push(params?.data ?? params?.uri ?? method);
  }
  stream.close();
  return said;
}

describe('the inbox', () => {
  it('keeps everything, in order, between two streams', async () => {
    await start();
    await listenedOnce();
    for (const data of ['a', 'b', 'a']) say(data);
    fixture.server.notifyToolsChanged();
    say('c');
    await holds(5);
    expect(await waiting(5)).toEqual(['a', 'b', 'a', 'notifications/tools/list_changed', 'c']);
    await holds(0);
  });

  it('holds one notice for each list that changed, however often', async () => {
    await start();
    await listenedOnce();
    for (let n = 0; n < 1_500; n++) {
      fixture.server.notifyToolsChanged();
      fixture.server.notifyResourcesChanged();
    }
    await holds(2);
    expect(ends).toEqual([]);
  });

  it('holds one notice for each resource that changed, of those subscribed to', async () => {
    await start();
    for (const uri of ['file:///readme.txt', 'item://1']) await session.request('resources/subscribe', { uri });
    for (let n = 0; n < 1_500; n++) {
      for (const uri of ['file:///readme.txt', 'item://1', 'item://2']) fixture.server.notifyResourceUpdated(uri);
    }
    expect(fixture.router.stats().inbox).toBe(2);
    expect(await waiting(2)).toEqual(['file:///readme.txt', 'item://1']);
  });

  it('holds a notice of a change that comes after the last one was read', async () => {
    await start();
    fixture.server.notifyToolsChanged();
    await waiting(1);
    await eventually(() => fixture.router.stats().streams === 0);
    fixture.server.notifyToolsChanged();
    expect(await waiting(1)).toEqual(['notifications/tools/list_changed']);
  });
});

describe('an inbox that is full', () => {
  it('holds inboxLimit messages; one more, and the session fails, loudly', async () => {
    await start({ inboxLimit: 3 });
    await listenedOnce();
    for (const data of ['a', 'b', 'c']) say(data);
    await holds(3);
    expect(ends).toEqual([]);
    say('d');
    await full();
    expect(fixture.router.stats()).toMatchObject({ sessions: 0, inbox: 0, sessionsEnded: { 'inbox-full': 1 } });
    expect((await session.request('ping')).status).toBe(404);
    const stream = await session.get();
    expect(stream.status).toBe(404);
    await stream.ended;
  });

  it('holds inboxBytes', async () => {
    await start({ inboxBytes: 1_000 });
    await listenedOnce();
    say('a'.repeat(600));
    await holds(1);
    expect(ends).toEqual([]);
    say('é'.repeat(250));
    await full();
  });

  it('holds a thousand messages by default', async () => {
    await start();
    await listenedOnce();
    for (let n = 0; n < 1_000; n++) say('a');
    await holds(1_000);
    expect(ends).toEqual([]);
    say('a');
    await full();
  });

  it('is full for one session only', async () => {
    await start({ inboxLimit: 3 });
    await listenedOnce();
    const reader = await legacySession(fixture);
    const stream = await reader.get();
    for (let n = 0; n < 10; n++) say(`${n}`);
    await stream.find(({ params }) => params?.data === '9');
    await full();
    expect((await reader.request('ping')).status).toBe(200);
    stream.close();
  });

  it('tells the callers whose calls were running', async () => {
    await start({ inboxLimit: 1 });
    await listenedOnce();
    fixture.server.registerTool('stubborn', {}, () => new Promise(() => undefined));
    const calls = [session.callTool('stubborn'), session.callTool('hold')];
    await eventually(() => fixture.router.stats().calls === 2);
    for (const data of ['a', 'b']) say(data);
    const replies = await Promise.all(calls);
    expect(replies.map(({ response }) => response?.error?.message ?? 'answered')).toEqual([
      'The session ended (inbox-full)',
      'answered',
    ]);
  });

  it('leaves room for the next session of that client', async () => {
    await start({ inboxLimit: 1, maxSessions: 1 });
    await listenedOnce();
    for (const data of ['a', 'b']) say(data);
    await full();
    session = await legacySession(fixture);
    expect((await session.request('ping')).status).toBe(200);
  });
});

describe('a session that has never opened its stream', () => {
  it('is not kept what cannot be merged: it is counted, and the session lives', async () => {
    await start({ inboxLimit: 3 });
    for (let n = 0; n < 10; n++) say('a');
    expect(fixture.router.stats()).toMatchObject({ sessions: 1, inbox: 0, undeliverable: 10 });
    expect(ends).toEqual([]);
  });

  it('is not failed for notices that do not fit: they are counted', async () => {
    await start({ inboxLimit: 2 });
    fixture.server.notifyToolsChanged();
    fixture.server.notifyPromptsChanged();
    fixture.server.notifyResourcesChanged();
    expect(fixture.router.stats()).toMatchObject({ sessions: 1, inbox: 2, undeliverable: 1 });
    expect(await waiting(2)).toEqual(['notifications/tools/list_changed', 'notifications/prompts/list_changed']);
  });
});
