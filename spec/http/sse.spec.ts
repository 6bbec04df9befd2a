/** Server-Sent Events as bytes: one line of data per message, headers that no proxy mistakes. */
import compression from 'compression';
import { encodeData, SseSink } from '../../lib/http/sse';
import { eventIdPrefix, parseEventId } from '../../lib/http/event-id';
import { Session } from '../../lib/sessions/session';
import { connect, eras } from '../support/eras';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { closeListeners, listen } from '../support/listen';
import { legacySession, modern, textOf } from '../support/wire';
import type { Stream } from '../support/wire';
import { createRecord } from '../support/session-store-contract';

const awkward = 'a\u2028b\u2029c\u0085d\r\ne\nf\rg\u0000h\u001b[31m\ud83d\ude00"\\';

describe('data', () => {
  it('is one line, and the same JSON', () => {
    const data = encodeData(JSON.stringify({ text: awkward }));
    expect(data).not.toMatch(/[\r\n\u0085\u2028\u2029]/);
    expect(JSON.parse(data)).toEqual({ text: awkward });
  });

  it('is left as it is where there is nothing to escape', () => {
    const json = JSON.stringify({ text: 'café \\u2028 \\\\u2028' });
    expect(encodeData(json)).toBe(json);
  });
});

describe('a stream that can be resumed', () => {
  afterEach(() => closeListeners());

  it('begins in one piece: who has its head has its first event id, however soon the process dies', async () => {
    const writes: string[] = [];
    const url = await listen((_req, res) => {
      const handle = (res.socket as unknown as { _handle: Record<string, (...args: unknown[]) => unknown> })._handle;
      for (const method of ['writev', 'writeBuffer', 'writeUtf8String', 'writeLatin1String', 'writeAsciiString']) {
        const write = handle[method]!;
        handle[method] = (...args) => {
          writes.push(method);
          return write.apply(handle, args);
        };
      }
      const sink = new SseSink(
        res,
        { maxSocketBytes: 1_000, keepAliveMs: 1_000 },
        { idPrefix: 'x.', primeWith: 0, onDrain() {}, onClose() {} },
        () => undefined,
      );
      setImmediate(() => setImmediate(() => sink.close()));
      setImmediate(() => writes.push('so far'));
    });
    expect(await (await fetch(url)).text()).toContain('id: x.0\n');
    expect(writes.indexOf('so far')).toBe(1);
  });
});

describe('an event id', () => {
  const session = (id: string) =>
    new Session(createRecord(id), { waitingLimit: 1, waitingBytes: 1, historyLimit: 1, historyBytes: 1 }, 0);

  it('leads back to its stream and position', () => {
    const mine = session('abcdefghijklmnopqrstu');
    expect(parseEventId(`${eventIdPrefix(mine, 'z')}12`, mine)).toEqual({ streamId: 'z', position: 12 });
  });

  it('leads nowhere in another session', () => {
    const id = `${eventIdPrefix(session('abcdefghijklmnopqrstu'), '0')}1`;
    expect(parseEventId(id, session('ABCDEFGHIJKLMNOPQRSTU'))).toBeUndefined();
  });

  it('does not show the session id', () => {
    expect(eventIdPrefix(session('abcdefghijklmnopqrstu'), '0').length).toBeLessThan(12);
  });
});

describe.each(eras)('an event stream, %s era', (era) => {
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await createFixture();
  });
  afterAll(() => fixture.close());

  it('has each event on one line of data that ends with a line feed', async () => {
    const client = await connect(era, fixture);
    const reply = await client.callTool('echo', { text: awkward }, { headers: { Accept: 'text/event-stream' } });
    expect(textOf(reply)).toBe(awkward);
    const lines = reply.text.split('\n');
    expect(
      lines.filter((line) => line.startsWith('data: ')).map((line) => JSON.parse(line.slice(6)) as unknown),
    ).toEqual([reply.response]);
    expect(reply.text).not.toMatch(/[\r\u0085\u2028\u2029]/);
    expect(reply.text).toMatch(/\n\n$/);
  });

  it('takes text in progress as well as in results', async () => {
    const local = await createFixture({
      setup(server) {
        server.registerTool('reports', {}, (_args, ctx) => {
          ctx.progress(1, undefined, awkward);
          return awkward;
        });
      },
    });
    const client = await connect(era, local);
    const reply = await client.request('tools/call', { name: 'reports', _meta: { progressToken: 1 } });
    expect(reply.messages[0]?.params?.message).toBe(awkward);
    expect(textOf(reply)).toBe(awkward);
    await local.close();
  });

  // "servers SHOULD include the X-Accel-Buffering: no header in the HTTP response"
  // https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#receiving-messages
  it('SHOULD have headers that keep proxies from holding it back', async () => {
    const client = await connect(era, fixture);
    const call = await client.stream('tools/call', { name: 'progress', _meta: { progressToken: 1 } });
    const listening =
      era === 'legacy'
        ? await (await legacySession(fixture)).get()
        : await modern(fixture).stream('subscriptions/listen', { notifications: {} });
    for (const { status, headers } of [call, listening]) {
      expect(status).toBe(200);
      expect(headers['x-accel-buffering']).toBe('no');
      expect(headers['content-type']).toBe('text/event-stream');
      expect(headers['cache-control']).toMatch(/no-cache|no-store/);
      expect(headers['cache-control']).toMatch(/no-transform/);
      expect(headers).not.toHaveProperty('content-length');
    }
    listening.close();
    await call.ended;
  });
});

describe.each(eras)('behind compression(), %s era', (era) => {
  const gzip = { 'Accept-Encoding': 'gzip' };

  it('an event leaves when it is sent, not when the stream ends', async () => {
    const fixture = await createFixture({ before: [compression({ threshold: 0 })] });
    const client = await connect(era, fixture);
    const call = await client.stream(
      'tools/call',
      { name: 'report-and-hold', arguments: {}, _meta: { progressToken: 1 } },
      { headers: gzip },
    );
    // The tool ends only when it is stopped: what comes now has not waited for it.
    expect((await call.find(() => true)).method).toBe('notifications/progress');
    call.close();
    await fixture.close();
  });

  it('what the server says on its own leaves at once', async () => {
    const fixture = await createFixture({ before: [compression({ threshold: 0 })] });
    const listening: Stream =
      era === 'legacy'
        ? await (await legacySession(fixture)).get(gzip)
        : await modern(fixture, gzip).stream('subscriptions/listen', { notifications: { toolsListChanged: true } });
    await listening.next();
    fixture.server.notifyToolsChanged();
    await listening.find(({ method }) => method === 'notifications/tools/list_changed');
    listening.close();
    await fixture.close();
  });
});
