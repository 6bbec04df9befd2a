// node -r esbuild-register examples/authorizer.ts
/** Who may do what, by role: what a caller may see, and what a call may do with the arguments it has. */
import express from 'express';
import { allow, bearerAuth, deny, McpServer, mcpRouter } from 'express-mcp';
import type { Authorizer } from 'express-mcp';
import * as z from 'zod';

const { PORT = '3004' } = process.env;
const tokens = new Map(['alice', 'bob'].map((principal) => [`token-of-${principal}`, { principal }]));
const verify = (token: string) => tokens.get(token) ?? null;
const roles = new Map([
  ['alice', 'support'],
  ['bob', 'guest'],
]);

/** Asked about each entry of each caller's list, and about every call before it runs. */
const authorizer: Authorizer = (call, { principal = '' }) => {
  const role = roles.get(principal);
  if (call.definition.annotations?.readOnlyHint) return allow();
  // Refused in the list as well: for guests the tool does not exist.
  if (role !== 'support') return deny('Only support may do this');
  if (call.operation === 'list') return allow();
  // Only a call has arguments. They fit the tool's schema by now.
  if (call.name === 'refund' && Number(call.arguments.amount) > 100) {
    return deny('Refunds over 100 need a manager: tell the customer that one will call back');
  }
  return allow();
};

const server = new McpServer({ name: 'shop', version: '1.0.0' }, { authorizer });

server.registerTool(
  'get_order',
  {
    description: 'Look up an order',
    inputSchema: z.object({ order: z.string() }),
    annotations: { readOnlyHint: true },
  },
  ({ order }) => `Order ${order}: one teapot, delivered`,
);

server.registerTool(
  'refund',
  {
    description: 'Pay money back',
    inputSchema: z.object({ order: z.string(), amount: z.number().positive() }),
    annotations: { destructiveHint: true },
  },
  ({ order, amount }) => `Refunded ${amount} for order ${order}`,
);

const app = express();
app.use('/mcp', bearerAuth({ verify, resourceMetadata: false }), mcpRouter(server));
app.listen(Number(PORT), '127.0.0.1', (error) => {
  if (error) throw error;
  console.log(`MCP endpoint: http://127.0.0.1:${PORT}/mcp, for token-of-alice (support) and token-of-bob (guest)`);
});
