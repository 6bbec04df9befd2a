/**
 * One node in a process of its own, with a tool for each way a call can go. What the tool `pay` does is written to the file
 * `LEDGER`, which outlives the process. Tells its parent when it listens, and what `onError` hears.
 */
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { allow, allowAll, elicit, McpServer, mcpRouter } from 'express-mcp';
import { redisSessions } from 'express-mcp/redis';
import { createClient } from 'redis';
import * as z from 'zod';
import { chaosLimits, secret } from './limits';

const { PORT, REDIS_URL, LEDGER } = process.env as Record<string, string>;

// Nothing outlives the process that watches.
process.on('disconnect', () => process.exit());

const report = (error: unknown) => {
  const { message, cause, stack } = error as Error;
  process.send?.({ error: `${message} ${cause instanceof Error ? cause.message : ''}`, stack });
};

const server = new McpServer(
  { name: 'chaos', version: '1.0.0' },
  {
    secrets: [secret],
    authorizer: (question) =>
      question.operation === 'call' && question.name === 'pay'
        ? elicit(`Pay ${String(question.arguments.nonce)}?`)
        : allow(),
    readAuthorizer: allowAll,
    elicitationTimeoutMs: chaosLimits.elicitationTimeoutMs,
    onError: report,
  },
);
const inputSchema = z.object({ nonce: z.string() });

server.registerTool('echo', { inputSchema }, ({ nonce }) => nonce);

server.registerTool('work', { inputSchema }, async ({ nonce }, ctx) => {
  for (let step = 1; step <= 4; step += 1) {
    ctx.progress(step, 4);
    await delay(20 + Math.random() * 200);
  }
  return nonce;
});

server.registerTool('ask', { inputSchema }, async ({ nonce }, ctx) => {
  const schema = z.object({ colour: z.string() });
  const { action } = await ctx.elicit('colour', { message: `Colour of ${nonce}?`, schema });
  return action === 'accept' ? nonce : 'declined';
});

server.registerTool('pay', { inputSchema, sensitive: true }, async ({ nonce }, ctx) => {
  ctx.progress(1, 2);
  appendFileSync(LEDGER!, `${nonce}\n`);
  await delay(Math.random() * 200);
  return nonce;
});

const client = createClient({ url: REDIS_URL });
const router = mcpRouter(server, {
  sessions: redisSessions({ client, commandTimeoutMs: chaosLimits.commandTimeoutMs }),
  keepAliveMs: 2_000,
  retryMs: chaosLimits.retryMs,
});
// Straight on `node:http`: what Express does is no part of this.
createServer(router).listen({ port: Number(PORT), host: '127.0.0.1', backlog: 1_024 }, () =>
  process.send!({ ready: true }),
);
process.on('message', (data) => server.notify('notifications/message', { level: 'info', data }));
