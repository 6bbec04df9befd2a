/** What a connection has running, and what a handler is given meanwhile. */
import { allowAll, McpServer } from 'express-mcp';
import type { Connection, JsonRpcResponse } from 'express-mcp';

const modernMeta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

function createServer() {
  const server = new McpServer(
    { name: 'connections', version: '1' },
    { authorizer: allowAll, readAuthorizer: allowAll },
  );
  const aborted: unknown[] = [];
  let started = 0;
  let onStarted: (() => void) | undefined;
  server.registerTool('hold', {}, async (_args, { signal }) => {
    started += 1;
    onStarted?.();
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    aborted.push(signal.reason);
  });
  /** Until so many calls have begun. */
  const running = (count: number) =>
    new Promise<void>((resolve) => {
      onStarted = () => started >= count && resolve();
      onStarted();
    });
  return { server, aborted, running };
}

async function initialize(server: McpServer, connection: Connection, revision: string): Promise<void> {
  const clientInfo = { name: 'spec', version: '1' };
  const params = { protocolVersion: revision, capabilities: {}, clientInfo };
  await server.handleMessage({ jsonrpc: '2.0', id: 0, method: 'initialize', params }, connection);
  await server.handleMessage({ jsonrpc: '2.0', method: 'notifications/initialized' }, connection);
}

describe('a connection', () => {
  it('cancels every call in flight under the id it names', async () => {
    const { server, aborted, running } = createServer();
    const connection = {};
    await initialize(server, connection, '2025-11-25');
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'hold' } };
    const calls = [server.handleMessage(call, connection), server.handleMessage(call, connection)];
    await running(2);
    const params = { requestId: 1 };
    await server.handleMessage({ jsonrpc: '2.0', method: 'notifications/cancelled', params }, connection);
    // 2025-11-25, cancellation: no response for a cancelled request.
    expect(await Promise.all(calls)).toEqual([undefined, undefined]);
    expect(aborted).toHaveLength(2);
  });

  it('cancels what runs when its last listener goes', async () => {
    const { server, aborted, running } = createServer();
    const connection = {};
    const stop = server.subscribe(() => undefined, connection);
    await initialize(server, connection, '2025-11-25');
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'hold' } };
    const calls = [server.handleMessage(call, connection), server.handleMessage(call, connection)];
    await running(2);
    stop();
    expect(await Promise.all(calls)).toEqual([undefined, undefined]);
    expect(aborted).toHaveLength(2);
  });

  it('takes the messages of a batch for its session’s, whatever they say of themselves', async () => {
    const { server } = createServer();
    const connection = {};
    const stop = server.subscribe(() => undefined, connection);
    await initialize(server, connection, '2025-03-26');
    const listen = { method: 'subscriptions/listen', params: { _meta: modernMeta, notifications: {} } };
    const batch = [
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { jsonrpc: '2.0', id: 2, ...listen },
    ];
    const answers = (await server.handleMessage(batch, connection)) as JsonRpcResponse[];
    expect(answers).toMatchObject([
      { id: 1, result: {} },
      { id: 2, error: { code: -32601 } },
    ]);
    stop();
  });
});

describe('a context', () => {
  it('keeps its methods working when a handler takes them out', async () => {
    const { server } = createServer();
    server.registerTool('takes-out', {}, async (_args, { progress, log, once, closeStream, elicit }) => {
      progress(1);
      log('error', 'logged');
      const value = await once('key', () => 'once');
      const refused = await elicit('sure', { message: 'Sure?', schema: { type: 'object', properties: {} } }).catch(
        (error: Error) => error.message,
      );
      return `${value}, ${closeStream()}, ${String(refused)}`;
    });
    const connection = {};
    const heard: unknown[] = [];
    const stop = server.subscribe((message) => heard.push((message as { method: string }).method), connection);
    await initialize(server, connection, '2025-11-25');
    const params = { name: 'takes-out', _meta: { progressToken: 0 } };
    const answer = await server.handleMessage({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }, connection);
    expect(heard).toEqual(['notifications/progress', 'notifications/message']);
    const text = 'once, false, This needs a client that supports elicitation (form mode)';
    expect(answer).toMatchObject({ result: { content: [{ text }] } });
    stop();
  });

  it('survives an effect that fails after a question has stopped its handler', async () => {
    const { server } = createServer();
    let fail!: () => void;
    const failed = new Promise<never>((_, reject) => (fail = () => reject(new Error('the effect'))));
    server.registerTool('effect', {}, async (_args, { once, elicit }) => {
      const effect = once('effect', () => failed);
      setImmediate(fail);
      await elicit('sure', { message: 'Sure?', schema: { type: 'object', properties: {} } });
      return effect;
    });
    const rejections: unknown[] = [];
    const hear = (error: unknown) => rejections.push(error);
    process.on('unhandledRejection', hear);
    const capabilities = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } };
    const params = { name: 'effect', _meta: { ...modernMeta, ...capabilities } };
    const answer = await server.handleMessage({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    await new Promise(setImmediate);
    process.off('unhandledRejection', hear);
    expect(answer).toMatchObject({ result: { resultType: 'input_required' } });
    expect(rejections).toEqual([]);
  });
});
