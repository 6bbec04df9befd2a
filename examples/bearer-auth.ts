// node -r esbuild-register examples/bearer-auth.ts
/** Bearer tokens: who calls, and, by the scopes of the token, what they may do. Call it with `token-of-alice`. */
import express from 'express';
import { allow, bearerAuth, deny, McpServer, mcpRouter, protectedResourceMetadata } from 'express-mcp';
import * as z from 'zod';

const { PORT = '3001' } = process.env;
/** The endpoint as clients know it; behind a proxy, its public https URL. */
const resource = `http://127.0.0.1:${PORT}/mcp`;

/** Yours: ask your token store, or check a signature (examples/jwt.ts). Take only tokens issued for this server. */
const tokens = new Map([
  ['token-of-alice', { principal: 'alice', scopes: ['notes:read', 'notes:write'] }],
  ['token-of-bob', { principal: 'bob', scopes: ['notes:read'] }],
]);

/** The scope that each tool needs. A tool that is not named here is nobody's. */
const scopeOf = new Map([
  ['list_notes', 'notes:read'],
  ['add_note', 'notes:write'],
]);

const server = new McpServer(
  { name: 'notes', version: '1.0.0' },
  {
    authorizer(call, { auth }) {
      const scope = scopeOf.get(call.name);
      if (scope === undefined) return deny('This tool is not open to anyone');
      // Everybody may see it: a client learns from the refusal which scope to ask its user for.
      if (call.operation === 'list' || auth?.scopes.includes(scope)) return allow();
      return deny(`This needs the scope ${scope}`, { scopes: [scope] });
    },
  },
);

const notes = new Map<string, string[]>();

server.registerTool('list_notes', { description: 'Your notes' }, (_args, { principal = '' }) => {
  return notes.get(principal)?.join('\n') ?? 'No notes yet';
});

server.registerTool(
  'add_note',
  { description: 'Keep a note', inputSchema: z.object({ text: z.string() }) },
  ({ text }, { principal = '' }) => {
    notes.set(principal, [...(notes.get(principal) ?? []), text]);
    return 'Noted';
  },
);

const app = express();
app.use(protectedResourceMetadata({ resource, authorizationServers: ['https://auth.example.com'] }));
app.use('/mcp', bearerAuth({ resource, verify: (token) => tokens.get(token) ?? null }), mcpRouter(server));
app.listen(Number(PORT), '127.0.0.1', (error) => {
  if (error) throw error;
  console.log(`MCP endpoint: ${resource}`);
});
