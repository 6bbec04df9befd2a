/** Requests that a host has answered by itself, its time limit for example, while they waited for a store. */
import { MemorySessionStore } from 'express-mcp';
import type { Response } from 'express';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { legacySession } from '../support/wire';
import type { LegacySession } from '../support/wire';

let goOn: () => void;
/** Its sessions are known to the mount only once they have been asked for. */
let fixture: Fixture;
/** Opens the session, and keeps it. */
let opener: Fixture;
let session: LegacySession;
/** Of the request that is being answered. */
let last: Response;
let asked: Promise<void>;

beforeEach(async () => {
  const store = new MemorySessionStore();
  opener = await createFixture({ router: { sessions: store } });
  session = await legacySession(opener);
  const { get } = store;
  const released = new Promise<void>((resolve) => (goOn = resolve));
  asked = new Promise((resolve) => {
    store.get = ((id: string) => {
      resolve();
      return released.then(() => get.call(store, id));
    }) as unknown as typeof get;
  });
  fixture = await createFixture({
    router: { sessions: store },
    before: [(_req, res, next) => ((last = res), next())],
  });
});
afterEach(async () => {
  await fixture.close();
  await opener.close();
});

const answer = () => last.status(504).type('text').write('too late');

it('GET is left alone', async () => {
  const opening = session.at(fixture).get();
  await asked;
  answer();
  const stream = await opening;
  goOn();
  await new Promise(setImmediate);
  last.end();
  await stream.ended;
  expect(stream.status).toBe(504);
  expect(fixture.router.stats().streams).toBe(0);
});

it.each(['application/json, text/event-stream', 'text/event-stream'])('POST is left alone: %s', async (Accept) => {
  const calling = session.at(fixture).request('ping', {}, { headers: { Accept }, validate: false });
  await asked;
  answer();
  goOn();
  await new Promise(setImmediate);
  last.end();
  const reply = await calling;
  expect([reply.status, reply.text]).toEqual([504, 'too late']);
});

it('what is refused meanwhile leaves it alone, too', async () => {
  const calling = session.at(fixture).request('ping', {}, { validate: false });
  await asked;
  answer();
  await session.at(opener).delete();
  goOn();
  await new Promise(setImmediate);
  last.end();
  const reply = await calling;
  expect([reply.status, reply.text]).toEqual([504, 'too late']);
});
