// node -r esbuild-register examples/passport.ts
/** An app with passport in front: its strategy says who calls, the option `principal` passes that on. */
import express from 'express';
import type { Request } from 'express';
import { allowAll, McpServer, mcpRouter, validateOrigin } from 'express-mcp';
import passport from 'passport';
import { Strategy as BearerStrategy } from 'passport-http-bearer';

const { PORT = '3006' } = process.env;

interface User {
  id: string;
  name: string;
}

const users = new Map<string, User>([
  ['token-of-alice', { id: '1', name: 'Alice' }],
  ['token-of-bob', { id: '2', name: 'Bob' }],
]);

passport.use(
  new BearerStrategy((token, done) => {
    done(null, users.get(token) ?? false);
  }),
);

/** What passport found. */
const userOf = (req: Request) => req.user as User | undefined;

const server = new McpServer({ name: 'passport', version: '1.0.0' }, { authorizer: allowAll });

server.registerTool('whoami', { description: 'Name the user' }, (_args, { principal, request }) => {
  // The request is the one that the middleware in front has seen.
  return `You are ${userOf(request as Request)?.name}, number ${principal}`;
});

const app = express();
app.use(
  '/mcp',
  validateOrigin(),
  passport.authenticate('bearer', { session: false }),
  // Without it every request is refused: all users would be one. An id that stays, not a name that may change.
  mcpRouter(server, { principal: (req: Request) => userOf(req)?.id }),
);
app.listen(Number(PORT), '127.0.0.1', (error) => {
  if (error) throw error;
  console.log(`MCP endpoint: http://127.0.0.1:${PORT}/mcp, for token-of-alice and token-of-bob`);
});
