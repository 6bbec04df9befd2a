// node -r esbuild-register examples/existing-app.ts
/** An app that has a login of its own: the endpoint stands behind it, like every other page. */
import { randomUUID, scryptSync, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import express from 'express';
import type { RequestHandler } from 'express';
import { allowAll, McpServer, mcpRouter, validateOrigin } from 'express-mcp';

const { PORT = '3002' } = process.env;

// The app as it was: users, a login page's target, a cookie.
const hash = (password: string) => scryptSync(password, 'salt of this app', 32);
const users = new Map([['alice', hash('wonderland')]]);
const logins = new Map<string, string>();

const app = express();
app.post('/login', express.urlencoded({ extended: false }), (req, res) => {
  const { user, password } = req.body as Record<string, unknown>;
  const known = users.get(String(user));
  if (known === undefined || !timingSafeEqual(known, hash(String(password)))) {
    return void res.status(401).send('Wrong user or password');
  }
  const id = randomUUID();
  logins.set(id, String(user));
  res.cookie('login', id, { httpOnly: true, sameSite: 'strict' }).send(`Welcome, ${String(user)}`);
});

/** Whose login the request carries. */
function userOf(req: IncomingMessage): string | undefined {
  return logins.get(/(?:^|; )login=([^;]+)/.exec(req.headers.cookie ?? '')?.[1] ?? '');
}

const requireLogin: RequestHandler = (req, res, next) => {
  if (userOf(req) === undefined) res.status(401).json({ error: 'Log in first' });
  else next();
};

// What is new. The login has decided who may: whoever is in may use every tool.
const server = new McpServer({ name: 'existing-app', version: '1.0.0' }, { authorizer: allowAll });
server.registerTool('whoami', { description: 'Name the user' }, (_args, { principal }) => `You are ${principal}`);

// The origin check goes first: preflights carry no login, and a foreign page must not use the cookie of its visitor.
app.use('/mcp', validateOrigin(), requireLogin, mcpRouter(server, { principal: userOf }));

app.listen(Number(PORT), '127.0.0.1', (error) => {
  if (error) throw error;
  console.log(`MCP endpoint: http://127.0.0.1:${PORT}/mcp, after POST /login with user=alice&password=wonderland`);
});
