/** A program that serves over stdio, for specs that need a real process: prints where it should not, asks, hangs. */
import { allowAll, McpServer } from 'express-mcp';
import { serveStdio } from 'express-mcp/stdio';
import * as z from 'zod';

console.log("before: stdout is still the program's own");

const server = new McpServer(
  { name: 'program', version: '1.0.0' },
  { authorizer: allowAll, readAuthorizer: allowAll, elicitationTimeoutMs: 10_000 },
);

server.registerTool('noisy', {}, () => {
  console.log('log');
  console.info('info');
  console.table([{ a: 1 }]);
  process.stdout.write('written\n');
  console.error('error');
  return 'quiet';
});

server.registerTool('ask', { inputSchema: z.object({ env: z.string() }) }, async ({ env }, ctx) => {
  ctx.progress(1, 2);
  const schema = z.object({ ok: z.boolean() });
  const answer = await ctx.elicit('confirm', { message: `Deploy to ${env}?`, schema });
  return JSON.stringify(answer);
});

server.registerTool('hold', {}, async (_args, ctx) => {
  await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
  console.error('aborted');
  return 'aborted';
});

server.registerTool('grow', {}, () => {
  server.registerTool('grown', {}, () => 'new');
  return 'grew';
});

server.registerResource('note', 'note://{id}', {}, (_uri, { id }) => `Note ${id}`);
server.registerPrompt('greet', { argsSchema: z.object({ who: z.string() }) }, ({ who }) => `Hello ${who}`);

const serving = serveStdio(server, { principal: 'ada' });
process.once('SIGTERM', () => void serving.close());
