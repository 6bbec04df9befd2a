// node -r esbuild-register examples/rate-limit.ts
/** How often a user may call: express-rate-limit behind the login, counting by principal. */
import type { IncomingMessage } from 'node:http';
import express from 'express';
import type { RequestHandler } from 'express';
import { allowAll, ErrorCode, McpServer, mcpRouter } from 'express-mcp';
import { rateLimit } from 'express-rate-limit';

const { PORT = '3008' } = process.env;
const keys = new Map([
  ['key-of-alice', 'alice'],
  ['key-of-bob', 'bob'],
]);

/** The login of the app; the limiter and the endpoint must mean the same user. */
const userOf = (req: IncomingMessage) => keys.get(String(req.headers['x-api-key']));

const requireKey: RequestHandler = (req, res, next) => {
  if (userOf(req) === undefined) res.status(401).json({ error: 'Send your key as X-Api-Key' });
  else next();
};

const limiter = rateLimit({
  windowMs: 60_000,
  limit: 10,
  // Not the address: a hosted client's users share one, and one user can have many.
  keyGenerator: (req) => userOf(req) ?? '',
  // With RateLimit headers and Retry-After on the refusal, and a body that MCP clients understand.
  standardHeaders: 'draft-8',
  legacyHeaders: false,
  message: { jsonrpc: '2.0', error: { code: ErrorCode.InvalidRequest, message: 'Too many requests; try again later' } },
});

const server = new McpServer({ name: 'rate-limit', version: '1.0.0' }, { authorizer: allowAll });
server.registerTool('whoami', { description: 'Name the user' }, (_args, { principal }) => `You are ${principal}`);

const app = express();
// What runs at the same time is the router's to limit; how often, this.
app.use('/mcp', requireKey, limiter, mcpRouter(server, { principal: userOf, maxCallsPerPrincipal: 5 }));
app.listen(Number(PORT), '127.0.0.1', (error) => {
  if (error) throw error;
  console.log(`MCP endpoint: http://127.0.0.1:${PORT}/mcp, with X-Api-Key: key-of-alice or key-of-bob`);
});
