// node -r esbuild-register examples/human-approval.ts
/** Ask the human first: the tool runs only after a yes, and finds in its context what else was asked. */
import express from 'express';
import { allow, elicit, McpServer, mcpRouter } from 'express-mcp';
import * as z from 'zod';

const { PORT = '3005' } = process.env;
const accounts = new Set(['anna', 'ben']);

const server = new McpServer(
  { name: 'accounts', version: '1.0.0' },
  {
    authorizer(call) {
      // In a list there is nothing to ask yet; a tool that will be asked about is shown.
      if (call.operation === 'list' || !call.definition.sensitive) return allow();
      return elicit({
        message: `Delete the account "${String(call.arguments.name)}" for good?`,
        fields: z.object({ reason: z.string().min(3).meta({ title: 'Reason' }) }),
      });
    },
    // Several processes must share it: the answer may come back to another one than asked. See docs/authorizer.md.
    secrets: process.env.MCP_SECRET === undefined ? undefined : [process.env.MCP_SECRET],
  },
);

server.registerTool('list_accounts', { description: 'All accounts' }, () => [...accounts].join(', ') || 'None');

server.registerTool(
  'delete_account',
  { description: 'Delete an account', inputSchema: z.object({ name: z.string() }), sensitive: true },
  ({ name }, { approval }) => {
    if (!accounts.delete(name)) return `There is no account "${name}"`;
    return `Deleted "${name}", because: ${String(approval?.reason)}`;
  },
);

const app = express();
app.use('/mcp', mcpRouter(server));
app.listen(Number(PORT), '127.0.0.1', (error) => {
  if (error) throw error;
  console.log(`MCP endpoint: http://127.0.0.1:${PORT}/mcp`);
});
