/** Reading a POST's body: from the wire, or from what the host's parser has left. */
import { once } from 'node:events';
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { createConnection } from 'node:net';
import type { Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import express from 'express';
import express4 from 'express4';
import { readMessageBody } from '../../lib/http/body';
import { HttpError, sendError } from '../../lib/http/http-error';
import { beginRequest, readReply, responseTo, send } from '../support/exchange';
import type { Headers, Reply } from '../support/exchange';
import { closeListeners, listen } from '../support/listen';

const KIB = 1024;
const MIB = 1024 * KIB;

afterEach(closeListeners);

type Before = (req: IncomingMessage, res: ServerResponse, next: () => void) => void;

interface Options {
  maxBodyBytes?: number;
  before?: Before;
  /** Sees each outcome, the answered ones and those whose client is gone. */
  onOutcome?(outcome: unknown, req: IncomingMessage): void;
}

/** A server that answers `{ value }`, with what it has read. */
function serve({
  maxBodyBytes = MIB,
  before = (_req, _res, next) => next(),
  onOutcome,
}: Options = {}): Promise<string> {
  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    try {
      const value = await readMessageBody(req, req.headers, maxBodyBytes);
      onOutcome?.(value, req);
      res.setHeader('Content-Type', 'application/json').end(JSON.stringify({ value }));
    } catch (error) {
      onOutcome?.(error, req);
      if (!(error instanceof HttpError)) throw error;
      sendError(res, error);
    }
  }
  return listen((req, res) => before(req, res, () => void answer(req, res)));
}

function post(url: string, body: string | Buffer, headers: Headers = {}): Promise<Reply> {
  return send(url, { body, headers, validate: false });
}

function valueIn(reply: Reply): unknown {
  expect(reply.status).toBe(200);
  return (JSON.parse(reply.text) as { value: unknown }).value;
}

function expectError(reply: Reply, status: number, code: number): void {
  expect(reply.headers['content-type']).toBe('application/json');
  expect([reply.status, reply.json]).toEqual([
    status,
    { jsonrpc: '2.0', error: { code, message: expect.any(String) } },
  ]);
}

describe('a body from the wire', () => {
  it.each(['{"a":[1,null,"é\u2028\u{1f600}"]}', '42', '"x"', 'null', '[]', ' {} \r\n', String.raw`"\ud800"`])(
    'is parsed: %s',
    async (text) => {
      expect(valueIn(await post(await serve(), text))).toEqual(JSON.parse(text));
    },
  );

  it('takes memory for its bytes, not for its pieces', async () => {
    const pieces = 100_000;
    let received = 0;
    let tellAll = (): void => undefined;
    const all = new Promise<void>((resolve) => (tellAll = resolve));
    const before: Before = (req, _res, next) => {
      req.on('data', (chunk: Buffer) => (received += chunk.length) === pieces && tellAll());
      next();
    };
    const url = await serve({ before });
    const client = createConnection(Number(new URL(url).port), '127.0.0.1');
    client.write('POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n');
    const heapBefore = liveHeap();
    client.write('1\r\n \r\n'.repeat(pieces));
    await all;
    expect(liveHeap() - heapBefore).toBeLessThan(4 * MIB);
    client.destroy();
  });

  it('may come in any pieces', async () => {
    const url = await serve();
    const text = JSON.stringify({ text: 'é\u{1f600}'.repeat(100) });
    const req = beginRequest(url, { headers: { 'Transfer-Encoding': 'chunked' } });
    const answered = responseTo(req);
    for (const byte of Buffer.from(text)) req.write(Buffer.of(byte));
    req.end();
    expect(valueIn(await readReply(await answered, { validate: false }))).toEqual(JSON.parse(text));
  });

  it('loses a byte order mark', async () => {
    expect(valueIn(await post(await serve(), '\ufeff{"a":1}'))).toEqual({ a: 1 });
  });

  it.each(['', ' ', '{', '{"secret":"hunter2"', '{"a":1}}', "{'a':1}", 'undefined', '\ufeff\ufeff1'])(
    'that is not JSON answers 400 with -32700, without a word of it: %j',
    async (text) => {
      const reply = await post(await serve(), text);
      expectError(reply, 400, -32700);
      expect(reply.text).not.toContain('hunter2');
    },
  );

  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports: "JSON-RPC messages MUST be UTF-8 encoded."
  it.each([
    Buffer.from('"\xc3\x28"', 'latin1'),
    Buffer.from('"\xed\xa0\x80"', 'latin1'),
    Buffer.from('"\xff"', 'latin1'),
    Buffer.from('{"a":1}', 'utf16le'),
    Buffer.from('\ufeff{"a":1}', 'utf16le'),
  ])('MUST be UTF-8: %#', async (bytes) => {
    expectError(await post(await serve(), bytes), 400, -32700);
  });

  it('makes no prototype of __proto__', async () => {
    let value: unknown;
    const url = await serve({ onOutcome: (outcome) => (value = outcome) });
    await post(url, '{"__proto__":{"polluted":true}}');
    expect(value).not.toHaveProperty('polluted');
    expect({}).not.toHaveProperty('polluted');
  });

  it.each<[string, Before]>([
    ['has paused the request', (req, _res, next) => (req.pause(), next())],
    ['has set an encoding', (req, _res, next) => (req.setEncoding('latin1'), next())],
    ['listens in', (req, _res, next) => (req.on('data', () => undefined), next())],
    ['has waited until all has come', (req, _res, next) => void waitUntilComplete(req).then(next)],
    ['has set an empty object', (req, _res, next) => (Object.assign(req, { body: {} }), next())],
    ['has set null', (req, _res, next) => (Object.assign(req, { body: null }), next())],
  ])('is read whole although a middleware %s', async (_what, before) => {
    const value = { text: 'é'.repeat(100_000) };
    expect(valueIn(await post(await serve({ before }), JSON.stringify(value)))).toEqual(value);
  });
});

/** Resolves when the server has the whole body, unread; a large one stays in the socket, and is not waited for. */
async function waitUntilComplete(req: IncomingMessage): Promise<void> {
  while (!req.complete && req.readableLength < req.readableHighWaterMark) await new Promise(setImmediate);
}

describe('a body that the host has parsed', () => {
  const expresses: [string, typeof express][] = [
    ['Express 5', express],
    ['Express 4', express4],
  ];

  describe.each(expresses)('with %s', (_version, { json, text, raw, urlencoded }) => {
    const parsers: [string, Before][] = [
      ['json()', json() as Before],
      ['json({ strict: false })', json({ strict: false }) as Before],
      ['text()', text({ type: '*/*' }) as Before],
      ['raw()', raw({ type: '*/*' }) as Before],
      ['parsers of other types', chain(urlencoded({ extended: false }) as Before, text() as Before)],
    ];

    it.each(parsers)('by %s is the same value', async (_name, before) => {
      const url = await serve({ before });
      expect(valueIn(await post(url, '{"a":["é"]}'))).toEqual({ a: ['é'] });
      expect(valueIn(await post(url, gzipSync('{"a":1}'), { 'Content-Encoding': 'gzip' }))).toEqual({ a: 1 });
      expect(valueIn(await post(url, '{}'))).toEqual({});
      expect(valueIn(await post(url, '[]'))).toEqual([]);
    });

    it.each(parsers)('by %s never keeps an empty body waiting', async (name, before) => {
      const url = await serve({ before });
      for (const headers of [{}, { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' }]) {
        const req = beginRequest(url, { headers });
        const answered = responseTo(req);
        req.end();
        const reply = await readReply(await answered, { validate: false });
        // express.json() makes {} of nothing.
        if (name.startsWith('json') && reply.status === 200) expect(valueIn(reply)).toEqual({});
        else expectError(reply, 400, -32700);
      }
    });

    it.each(parsers.slice(2, 4))('by %s is parsed as strictly', async (_name, before) => {
      const url = await serve({ before });
      expectError(await post(url, '{"a":'), 400, -32700);
      expect(valueIn(await post(url, '\ufeff1'))).toBe(1);
    });

    it('to bytes must be UTF-8', async () => {
      const url = await serve({ before: raw({ type: '*/*' }) as Before });
      expectError(await post(url, Buffer.from('"\xc3\x28"', 'latin1')), 400, -32700);
    });

    it.each(['42', '"x"', '""', '"é\\n"', 'null', 'false', '0'])('to the value of %s is that value', async (body) => {
      const url = await serve({ before: json({ strict: false }) as Before });
      expect(valueIn(await post(url, body))).toEqual(JSON.parse(body));
    });
  });

  it('is not limited again', async () => {
    const url = await serve({ before: express.json({ limit: '1mb' }) as Before, maxBodyBytes: 10 });
    expect(
      valueIn(await post(url, JSON.stringify('x'.repeat(100)).replace(/.*/, '["$&"]').replaceAll('""', '"'))),
    ).toEqual(['x'.repeat(100)]);
  });

  it('and put on a request whose stream is untouched is taken', async () => {
    for (const body of [{ a: 1 }, '{"a":1}', Buffer.from('{"a":1}')]) {
      const before: Before = (req, _res, next) => (Object.assign(req, { body }), next());
      expect(valueIn(await post(await serve({ before }), '{"b":2}'))).toEqual({ a: 1 });
    }
  });

  it.each<[string, Before]>([
    ['to its end', (req, _res, next) => req.on('end', next).resume()],
    ['to its end, and it was empty', (req, _res, next) => req.on('end', next).resume()],
    ['in part', (req, _res, next) => req.once('data', () => (req.pause(), next()))],
    [
      'and says so, like body-parser 1, but left nothing',
      (req, _res, next) => Object.assign(req, { _body: true }).on('end', next).resume(),
    ],
  ])('and kept answers 500, and tells the host what to do: %s', async (what, before) => {
    const reply = await post(await serve({ before }), what.endsWith('empty') ? '' : '{"a":1}');
    expectError(reply, 500, -32603);
    expect(reply.json?.error?.message).toContain('express.json()');
  });
});

function chain(first: Before, second: Before): Before {
  return (req, res, next) => first(req, res, () => second(req, res, next));
}

describe('a compressed body', () => {
  it.each([
    ['gzip', gzipSync],
    ['GZip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['identity', Buffer.from],
  ])('in %s is inflated', async (encoding, compress) => {
    const value = { text: 'é'.repeat(10_000) };
    const reply = await post(await serve(), compress(JSON.stringify(value)), { 'Content-Encoding': encoding });
    expect(valueIn(reply)).toEqual(value);
  });

  it.each(['zstd', 'compress', 'gzip, gzip', 'gzipx', '', '__proto__'])(
    'in %p answers 415, and names what is understood',
    async (encoding) => {
      const reply = await post(await serve(), '{}', { 'Content-Encoding': encoding });
      expectError(reply, 415, -32600);
      expect(reply.headers['accept-encoding']).toBe('gzip, deflate, br');
    },
  );

  it.each([
    ['is not', Buffer.from('{"a":1}')],
    ['is cut off', gzipSync('{"a":1}').subarray(0, 15)],
    ['is empty', Buffer.alloc(0)],
    ['holds no JSON', gzipSync('{"a":')],
    ['holds no UTF-8', gzipSync(Buffer.from('"\xff"', 'latin1'))],
  ])('that claims gzip but %s answers 400 with -32700', async (_what, body) => {
    expectError(await post(await serve(), body, { 'Content-Encoding': 'gzip' }), 400, -32700);
  });

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])('in %s is limited by its inflated size, to the byte', async (encoding, compress) => {
    const url = await serve({ maxBodyBytes: 100_000 });
    const at = (size: number) => post(url, compress('1'.padEnd(size)), { 'Content-Encoding': encoding });
    expect(valueIn(await at(100_000))).toBe(1);
    expectError(await at(100_001), 413, -32600);
  });

  it('that would inflate to 200 MB is refused without inflating it', async () => {
    const url = await serve();
    const bomb = gzipSync(Buffer.alloc(200 * MIB));
    const before = process.memoryUsage().rss;
    expectError(await post(url, bomb, { 'Content-Encoding': 'gzip' }), 413, -32600);
    expect(process.memoryUsage().rss - before).toBeLessThan(50 * MIB);
  });

  it('that inflates to nothing, for ever, is cut at the limit', async () => {
    const url = await serve({ maxBodyBytes: 10 * KIB });
    const nothing = Buffer.concat(Array.from({ length: 1_000 }, () => gzipSync('')));
    expectError(await post(url, nothing, { 'Content-Encoding': 'gzip' }), 413, -32600);
  });
});

describe('a body over the limit', () => {
  it.each([true, false])('answers 413 from the first byte too many (chunked: %p)', async (isChunked) => {
    const url = await serve({ maxBodyBytes: 100 });
    for (const size of [100, 101]) {
      const req = beginRequest(url, { headers: isChunked ? {} : { 'Content-Length': `${size}` } });
      const answered = responseTo(req);
      req.write('1'.padEnd(50));
      req.end(' '.repeat(size - 50));
      const reply = await readReply(await answered, { validate: false });
      if (size === 100) expect(valueIn(reply)).toBe(1);
      else expectError(reply, 413, -32600);
    }
  });

  it('is counted in bytes, whatever encoding a middleware has set', async () => {
    const before: Before = (req, _res, next) => (req.setEncoding('utf8'), next());
    const url = await serve({ before, maxBodyBytes: 100 });
    expectError(await post(url, JSON.stringify('é'.repeat(50))), 413, -32600);
  });

  it('is refused for its Content-Length before any of it is sent', async () => {
    const url = await serve();
    const req = beginRequest(url, { headers: { 'Content-Length': `${200 * MIB}` } });
    const answered = responseTo(req);
    req.flushHeaders();
    const reply = await readReply(await answered, { validate: false });
    expectError(reply, 413, -32600);
    expect(reply.headers.connection).toBe('close');
    req.destroy();
  });

  it.each([{ 'Content-Length': `${200 * MIB}` }, {}])(
    'is answered while it is still coming, and is not read: %j',
    async (headers) => {
      const url = await serve();
      const req = beginRequest(url, { headers });
      const answered = responseTo(req);
      const before = process.memoryUsage().rss;
      const { sent, reply } = await pump(req, answered, 200 * MIB);
      expectError(reply, 413, -32600);
      expect(sent).toBeLessThan(50 * MIB);
      expect(process.memoryUsage().rss - before).toBeLessThan(80 * MIB);
      req.destroy();
    },
  );

  it('is answered to a client that sends all before it reads', async () => {
    // More than the system would hold for a server that does not read.
    const url = await serve({ maxBodyBytes: 32 * MIB });
    const socket = createConnection(Number(new URL(url).port), '127.0.0.1');
    const body = Buffer.alloc(33 * MIB, ' ');
    socket.pause();
    socket.write(`POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n`);
    await new Promise<void>((resolve, reject) => {
      socket.on('error', reject);
      socket.write(body, (error) => (error ? reject(error) : resolve()));
    });
    expect(await readAll(socket)).toMatch(/^HTTP\/1.1 413 [^]*Connection: close\r\n[^]*"code":-32600/);
  });

  it('is not read further than to the limit once more, by and large', async () => {
    let req: IncomingMessage | undefined;
    const url = await serve({ before: (request, _res, next) => ((req = request), next()) });
    const client = createConnection(Number(new URL(url).port), '127.0.0.1').resume();
    client.on('error', () => undefined);
    client.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n');
    client.write(Buffer.alloc(64 * MIB));
    while (req?.isPaused() !== true) {
      expect(req?.socket.bytesRead ?? 0).toBeLessThan(2 * MIB);
      await new Promise(setImmediate);
    }
    client.destroy();
  });

  it('leaves no connection to a client that neither stops nor hangs up', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance'] });
    try {
      let socket: Socket | undefined;
      const url = await serve({ before: (req, _res, next) => ((socket = req.socket), next()) });
      const client = createConnection({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true });
      client.on('error', () => undefined);
      client.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n');
      client.resume();
      await once(client, 'end');
      expect(socket?.destroyed).toBe(false);
      jest.advanceTimersByTime(2_000);
      expect(socket?.destroyed).toBe(true);
      client.destroy();
    } finally {
      jest.useRealTimers();
    }
  });
});

/** Bytes in use after a full collection. */
function liveHeap(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Write until answered, at most `limit` bytes. */
async function pump(req: ClientRequest, answered: Promise<IncomingMessage>, limit: number) {
  const chunk = Buffer.alloc(256 * KIB, 'a');
  const ended = answered.then(() => true);
  let sent = 0;
  let isOver = false;
  while (!isOver && sent < limit) {
    sent += chunk.length;
    const drained = req.write(chunk) ? new Promise((resolve) => setImmediate(resolve)) : once(req, 'drain');
    isOver = (await Promise.race([ended, drained.catch(() => undefined)])) === true;
  }
  return { sent, reply: await readReply(await answered, { validate: false }) };
}

async function readAll(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  socket.resume();
  await once(socket, 'close');
  return text;
}

describe('a client that hangs up', () => {
  /** Send half a body and go. */
  async function hangUp(options: Options): Promise<void> {
    const arrived: { resolve?: (socket: Socket) => void } = {};
    const socketOf = new Promise<Socket>((resolve) => (arrived.resolve = resolve));
    const { before = (_req, _res, next) => next() } = options;
    const url = await serve({
      ...options,
      before: (req, res, next) => (arrived.resolve?.(req.socket), before(req, res, next)),
    });
    const req = beginRequest(url, { headers: { 'Content-Length': '100' } });
    req.on('error', () => undefined);
    req.write('{"a":');
    const socket = await socketOf;
    // Not `once`: the socket's error is what is provoked.
    const closed = new Promise((resolve) => socket.on('close', resolve));
    req.destroy();
    await closed;
  }

  it('half-way through makes a rejection, and leaves no listener', async () => {
    let seen: [unknown, IncomingMessage] | undefined;
    const outcome = new Promise<void>((resolve) => {
      void hangUp({ onOutcome: (error, req) => ((seen = [error, req]), resolve()) });
    });
    await outcome;
    const [error, req] = seen ?? [];
    expect(error).toMatchObject({ name: 'HttpError', status: 400, code: -32600 });
    expect(['data', 'end', 'close', 'error'].map((event) => req?.listenerCount(event))).toEqual([0, 0, 0, 0]);
  });

  it('before its body is read makes a rejection too', async () => {
    const outcome = new Promise((resolve) => {
      const before: Before = (req, _res, next) => void req.socket.once('close', () => setImmediate(next));
      void hangUp({ before, onOutcome: resolve });
    });
    expect(await outcome).toMatchObject({ name: 'HttpError', status: 400, code: -32600 });
  });
});
