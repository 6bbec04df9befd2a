/** What a reply's stream carries, on its way to a store that can be away. */
import { UnavailableError } from '../../lib/protocol/errors';
import { ReplyLog } from '../../lib/sessions/reply-log';
import type { StreamBatch } from '../../lib/sessions/shared-store';
import { Stream } from '../../lib/sessions/stream';
import { eventually } from '../support/eventually';

const limits = { waitingLimit: 100, waitingBytes: 10_000, historyLimit: 100, historyBytes: 10_000 };

describe('A reply’s log', () => {
  let told: StreamBatch[];
  let away: boolean;
  let reply: 'told' | 'ended' | 'abandoned';
  let abandoned: number;
  let attempts: number;
  let done: number;
  let errors: unknown[];
  let requestIds: () => number[];
  let stream: Stream;
  let log: ReplyLog;
  beforeEach(() => {
    requestIds = () => [7];
    [told, away, reply, attempts, done, abandoned, errors] = [[], false, 'told', 0, 0, 0, []];
    const streams = {
      async appendReply(_id: string, _streamId: string, batch: StreamBatch) {
        attempts += 1;
        if (away) throw new UnavailableError('away');
        told.push(batch);
        return reply;
      },
    };
    log = new ReplyLog({
      streams: streams as never, // what a log uses of them
      id: 'session',
      streamId: 'stream',
      requestIds: () => requestIds(),
      limit: 3,
      limitBytes: 1_000,
      onAbandoned: () => (abandoned += 1),
      onDone: () => (done += 1),
      onError: (error) => errors.push(error),
    });
    stream = new Stream(limits);
    stream.log = log;
  });
  afterEach(() => log.end());

  const texts = () => told.flatMap(({ events }) => events.map(({ json }) => json));

  it('tells at once that there is a stream, and then what it carries, in order', async () => {
    expect(await log.known).toBe(true);
    for (const text of ['1', '2', '3']) stream.send(text);
    stream.finish();
    await eventually(() => done === 1);
    expect(texts()).toEqual(['1', '2', '3']);
    expect(told.map(({ finished }) => finished)).toEqual([...told.slice(1).map(() => false), true]);
    expect(told.every(({ requestIds }) => requestIds[0] === 7)).toBe(true);
  });

  it('tries again while the store is away, and keeps the latest', async () => {
    away = true;
    for (const text of ['1', '2', '3', '4']) stream.send(text);
    await eventually(() => attempts > 0);
    away = false;
    expect(await log.known).toBe(true);
    expect(texts()).toEqual(['2', '3', '4']);
  });

  it('keeps no more bytes for it than a history has, and always the latest', async () => {
    away = true;
    for (const text of ['1', '2'.repeat(600), '3'.repeat(600)]) stream.send(text);
    await eventually(() => attempts > 0);
    stream.send('4'.repeat(5_000));
    away = false;
    expect(await log.known).toBe(true);
    stream.finish();
    await eventually(() => done === 1);
    expect(texts().map(([first]) => first)).toEqual(['4']);
  });

  it.each([
    ['when the session is', 'ended', 0],
    ['when the node was taken for dead, and says so', 'abandoned', 1],
  ] as const)('is over %s', async (_, why, times) => {
    reply = why;
    expect(await log.known).toBe(false);
    await eventually(() => done === 1);
    expect(abandoned).toBe(times);
    stream.send('late');
    await log.told;
    expect(attempts).toBe(1);
  });

  it('says now and then that the call runs, and does not mind if that fails', async () => {
    expect(await log.known).toBe(true);
    await log.told;
    const told = attempts;
    log.keep(Date.now() + 14_000);
    await log.told;
    expect(attempts).toBe(told);
    away = true;
    log.keep(Date.now() + 15_000);
    await log.told;
    expect(attempts).toBe(told + 1);
    away = false;
    log.keep(Date.now() + 15_000);
    await log.told;
    expect(attempts).toBe(told + 2);
    expect(texts()).toEqual([]);
  });

  it('says what is wrong where that is not the store', async () => {
    expect(await log.known).toBe(true);
    const wrong = new TypeError('requestIds is not what it should be');
    requestIds = () => {
      throw wrong;
    };
    stream.send('1');
    stream.send('2');
    await eventually(() => errors.length > 0);
    requestIds = () => [7];
    stream.finish();
    await eventually(() => done === 1);
    expect(errors).toEqual([wrong]);
    expect(texts()).toEqual(['1', '2']);
  });

  it('gives up when its node does, and leaves no timer', async () => {
    away = true;
    await eventually(() => attempts > 0);
    const before = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    log.end();
    expect(await log.known).toBe(false);
    expect(done).toBe(1);
    expect(process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length).toBeLessThanOrEqual(before);
    stream.send('late');
    await log.told;
    expect(attempts).toBe(1);
  });
});
