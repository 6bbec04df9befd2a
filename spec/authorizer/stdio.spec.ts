/** Over stdio the authorizer asks as over HTTP, with lines for posts. */
import { allow, elicit, McpServer } from 'express-mcp';
import type { ToolQuestion } from 'express-mcp';
import { initialize, serveLines } from '../support/lines';
import { textOfMessage } from '../support/memory';
import { approvalKey, createPolicy, denialIn, forms, notYes, yes } from '../support/questions';

const policy = createPolicy<ToolQuestion>(({ operation }) => (operation === 'call' ? elicit('Wipe it?') : allow()));
const ran: unknown[] = [];
beforeEach(() => {
  ran.splice(0);
  policy.taken();
});

function createServer(): McpServer {
  const server = new McpServer(
    { name: 'stdio', version: '1.0.0' },
    { authorizer: policy.hook, elicitationTimeoutMs: 100 },
  );
  server.registerTool('wipe', { sensitive: true }, (_args, { principal, transport }) => {
    ran.push([principal, transport]);
    return 'wiped';
  });
  return server;
}

const call = { name: 'wipe', arguments: {} };

describe('legacy era', () => {
  const start = async () => {
    const client = serveLines(createServer(), { revision: '2025-11-25', principal: 'alice' });
    await initialize(client, '2025-11-25', forms);
    const response = client.request('tools/call', call);
    const question = await client.next(({ method }) => method === 'elicitation/create');
    return { client, response, question };
  };

  it('runs the tool after the yes, once', async () => {
    const { client, response, question } = await start();
    expect(ran).toEqual([]);
    for (let n = 0; n < 2; n += 1) client.send({ jsonrpc: '2.0', id: question.id, result: yes });
    expect(textOfMessage(await response)).toBe('wiped');
    expect(ran).toEqual([['alice', 'stdio']]);
    await client.serving.close();
    expect(ran).toHaveLength(1);
  });

  it.each(notYes)('denies for: %s', async (_what, result) => {
    const { client, response, question } = await start();
    client.send({ jsonrpc: '2.0', id: question.id, result });
    expect(denialIn(await response)).toMatchObject({ code: 'authorization_denied', prompt: 'Wipe it?' });
    expect(ran).toEqual([]);
    await client.serving.close();
  });

  it('denies for silence, and says that nobody waits any more', async () => {
    const { client, response, question } = await start();
    const withdrawn = await client.next(({ method }) => method === 'notifications/cancelled');
    expect(withdrawn.params?.requestId).toBe(question.id);
    expect(denialIn(await response)).toMatchObject({ code: 'authorization_denied' });
    client.send({ jsonrpc: '2.0', id: question.id, result: yes });
    await client.request('ping');
    expect(ran).toEqual([]);
    await client.serving.close();
  });
});

describe('modern era', () => {
  it('runs the tool on the retry with the yes, once', async () => {
    const client = serveLines(createServer(), { capabilities: forms, principal: 'alice' });
    const { result } = await client.request('tools/call', call);
    expect(Object.keys(result?.inputRequests as object)).toEqual([approvalKey]);
    const retry = { ...call, requestState: result?.requestState, inputResponses: { [approvalKey]: yes } };
    expect(textOfMessage(await client.request('tools/call', retry))).toBe('wiped');
    expect((await client.request('tools/call', retry)).result?.resultType).toBe('input_required');
    expect(ran).toEqual([['alice', 'stdio']]);
    await client.serving.close();
  });

  it('gives no approval to another principal', async () => {
    const [alice, bob] = [
      serveLines(createServer(), { capabilities: forms, principal: 'alice' }),
      serveLines(createServer(), { capabilities: forms, principal: 'bob' }),
    ];
    const { result } = await alice.request('tools/call', call);
    const retry = { ...call, requestState: result?.requestState, inputResponses: { [approvalKey]: yes } };
    expect((await bob.request('tools/call', retry)).error?.code).toBe(-32602);
    expect(ran).toEqual([]);
    await Promise.all([alice.serving.close(), bob.serving.close()]);
  });
});
