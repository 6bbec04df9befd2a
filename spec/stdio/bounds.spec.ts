/** A client that does not read, and one that asks too much. */
import { PassThrough, Writable } from 'node:stream';
import { McpServer } from 'express-mcp';
import { serveStdio } from 'express-mcp/stdio';
import { serveLines } from '../support/lines';
import { modernRequest } from '../support/wire';

const mebibyte = 1024 * 1024;

function createServer(): McpServer {
  const server = new McpServer({ name: 'bounds', version: '1.0.0' });
  server.registerTool('large', {}, () => 'x'.repeat(mebibyte / 2));
  server.registerTool('chatty', {}, (_args, ctx) => {
    for (let step = 1; step <= 100; step += 1) ctx.progress(step, 100, 'x'.repeat(mebibyte / 2));
    return 'done';
  });
  server.registerTool('hold', {}, async (_args, ctx) => {
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
    return 'aborted';
  });
  return server;
}

/** Takes what is written only when told to. */
class Slow extends Writable {
  taken = '';
  #go: (() => void) | undefined;
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.taken += String(chunk);
    this.#go = done;
  }
  /** Take everything that is there, and what comes. */
  async drain(): Promise<void> {
    this._write = (chunk: Buffer, _encoding, done) => {
      this.taken += String(chunk);
      done();
    };
    this.#go?.();
    await new Promise(setImmediate);
  }
}

const call = (name: string, id: number, meta = {}) =>
  `${JSON.stringify(modernRequest('tools/call', { name, arguments: {} }, { id, meta }).body)}\n`;

describe('a client that does not read', () => {
  it('is not read from either, until it has', async () => {
    const [stdin, stdout] = [new PassThrough(), new Slow()];
    const serving = serveStdio(createServer(), { stdin, stdout });
    for (let id = 1; id <= 4; id += 1) stdin.write(call('large', id));
    await new Promise(setImmediate);
    expect(stdin.isPaused()).toBe(true);
    expect(stdout.writableLength).toBeGreaterThan(mebibyte);
    stdin.write(call('hold', 5));
    await new Promise(setImmediate);
    expect(stdin.readableLength).toBeGreaterThan(0);

    await stdout.drain();
    expect(stdin.isPaused()).toBe(false);
    expect(stdin.readableLength).toBe(0);
    const ids = stdout.taken.trimEnd().split('\n');
    expect(ids.map((line) => (JSON.parse(line) as { id: number }).id)).toEqual([1, 2, 3, 4]);
    await serving.close({ graceMs: 0 });
  });

  it('ends its connection when more waits for it than the limit', async () => {
    const [stdin, stdout] = [new PassThrough(), new Slow()];
    const errors: unknown[] = [];
    const options = { maxWaitingBytes: 2 * mebibyte, onError: (error: unknown) => void errors.push(error) };
    const serving = serveStdio(createServer(), { stdin, stdout, ...options });
    stdin.write(call('chatty', 1, { progressToken: 'p' }));
    await serving.closed;
    expect(errors).toEqual([new Error('The client does not read: over 2097152 bytes wait on stdout')]);
    expect(stdout.writableLength).toBeLessThan(3 * mebibyte);
    await stdout.drain();
  });
});

describe('a client that asks too much', () => {
  it('is refused beyond maxCalls, and served again later; what needs no answer always passes', async () => {
    const client = serveLines(createServer(), { maxCalls: 2 });
    void client.request('tools/call', { name: 'hold', arguments: {} }, { id: 1 });
    void client.request('subscriptions/listen', { notifications: {} }, { id: 2 });
    await client.next(({ method }) => method === 'notifications/subscriptions/acknowledged');
    const { error } = await client.request('tools/list');
    expect(error).toEqual({ code: -32600, message: 'Too many requests are running' });
    client.notify('notifications/cancelled', { requestId: 1 });
    client.notify('notifications/cancelled', { requestId: 2 });
    await new Promise(setImmediate);
    expect((await client.request('tools/list', {}, { id: 3 })).result?.tools).toHaveLength(3);
    await client.serving.close();
    expect(client.received.filter(({ id }) => id === 1 || id === 2)).toEqual([]);
  });
});
