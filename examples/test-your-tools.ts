// node -r esbuild-register examples/test-your-tools.ts
/** Tests of your own tools, without a port, in both eras. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allow, deny, elicit, McpServer } from 'express-mcp';
import { connect } from 'express-mcp/testing';
import * as z from 'zod';

const accounts = new Map([['alice', 100]]);

/** The server under test: in your project it is imported. */
function createServer(): McpServer {
  const server = new McpServer(
    { name: 'bank', version: '1.0.0' },
    {
      authorizer(call, { principal }) {
        if (principal === undefined) return deny('Log in first');
        return call.operation === 'call' && call.name === 'pay' ? elicit(`Pay ${call.arguments.amount}?`) : allow();
      },
    },
  );
  server.registerTool('balance', {}, (_args, { principal = '' }) => `${accounts.get(principal) ?? 0}`);
  server.registerTool(
    'pay',
    { inputSchema: z.object({ amount: z.number().positive() }), sensitive: true },
    ({ amount }, { principal = '' }) => {
      accounts.set(principal, (accounts.get(principal) ?? 0) - amount);
      return 'Paid';
    },
  );
  return server;
}

for (const revision of ['2025-11-25', '2026-07-28']) {
  test(`pay asks first (${revision})`, async () => {
    let asked = '';
    const client = await connect(createServer(), {
      revision,
      principal: 'alice',
      onElicit({ message }) {
        asked = message;
        return { action: 'decline' };
      },
    });
    assert.equal((await client.callTool('pay', { amount: 30 })).isError, true);
    assert.equal(asked, 'Pay 30?');
    assert.deepEqual((await client.callTool('balance')).content, [{ type: 'text', text: '100' }]);
    await client.close();
  });

  test(`strangers see no tools (${revision})`, async () => {
    const client = await connect(createServer(), { revision });
    assert.deepEqual(await client.listTools(), []);
    await client.close();
  });
}
