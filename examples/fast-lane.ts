// node -r esbuild-register examples/fast-lane.ts
/** The endpoint in front of the app: calls do not pass through Express, pages do. Call it with `token-of-alice`. */
import { createServer } from 'node:http';
import express from 'express';
import { allowAll, bearerAuth, McpServer, mcpRouter, protectedResourceMetadata, validateOrigin } from 'express-mcp';
import * as z from 'zod';

const { PORT = '3009' } = process.env;
const resource = `http://127.0.0.1:${PORT}/mcp`;

// The app as it was, with whatever it has: sessions, templates, a dozen middlewares.
const app = express();
app.get('/', (_req, res) => void res.send('A page of the app'));
// What clients ask for once has time: it stays in the app.
app.use(protectedResourceMetadata({ resource, authorizationServers: ['https://auth.example.com'] }));

const server = new McpServer({ name: 'fast-lane', version: '1.0.0' }, { authorizer: allowAll });
server.registerTool(
  'echo',
  { description: 'Say it back', inputSchema: z.object({ text: z.string() }) },
  ({ text }, { principal }) => `${principal}: ${text}`,
);

// The app's middlewares do not run here, its login included: what the endpoint needs stands before it.
const tokens = new Map([['token-of-alice', { principal: 'alice', scopes: [] }]]);
const checkOrigin = validateOrigin();
const checkToken = bearerAuth({ resource, verify: (token) => tokens.get(token) ?? null });
const mcp = mcpRouter(server, { path: '/mcp' });

createServer((req, res) => {
  if (req.url !== '/mcp') return app(req, res);
  checkOrigin(req, res, () => checkToken(req, res, () => mcp(req, res)));
})
  .listen(Number(PORT), '127.0.0.1', () =>
    console.log(`MCP endpoint: ${resource}, in front of http://127.0.0.1:${PORT}/`),
  )
  .on('error', (error) => {
    throw error;
  });
