/**
 * A server in a process of its own, for soaking and for restarts: prints nothing, tells its parent its port, and how it is
 * when asked. `PORT` is where it listens; 0 is anywhere.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import { allowAll, McpServer, mcpRouter } from 'express-mcp';
import type { MountStats } from 'express-mcp';
import * as z from 'zod';

/** How the process is, after the garbage is gone. */
export interface Condition {
  heapBytes: number;
  /** What keeps the process alive, by kind, but for the way to its parent. */
  handles: Record<string, number>;
  stats: MountStats;
  /** Tool calls that have run. */
  ran: number;
  /** What `onError` heard. */
  errors: string[];
}

// Nothing outlives the process that watches.
process.on('disconnect', () => process.exit());

const errors: string[] = [];
let ran = 0;
const server = new McpServer(
  { name: 'soak', version: '1.0.0' },
  {
    authorizer: allowAll,
    readAuthorizer: allowAll,
    elicitationTimeoutMs: 3_000,
    onError: (error) => void (errors.length < 20 && errors.push(String(error))),
  },
);
const text = z.object({ text: z.string() });
server.registerTool('echo', { inputSchema: text }, (args) => {
  ran += 1;
  return args.text;
});
server.registerTool('work', { inputSchema: text }, async (args, ctx) => {
  ran += 1;
  for (const step of [1, 2, 3]) {
    ctx.progress(step, 3);
    await delay(50, undefined, { signal: ctx.signal });
  }
  return args.text;
});
server.registerTool('flood', { inputSchema: text }, (args, ctx) => {
  ran += 1;
  for (let step = 1; step <= 20; step += 1) ctx.progress(step, 20, 'x'.repeat(5_000));
  return args.text;
});
server.registerTool('ask', { inputSchema: text }, async (args, ctx) => {
  ran += 1;
  await ctx.elicit('name', { message: 'Who?', schema: z.object({ name: z.string() }) });
  return args.text;
});

const router = mcpRouter(server, {
  principal: (req) => req.headers['x-client'] as string | undefined,
  sessionIdleMs: 10_000,
  keepAliveMs: 500,
  historyMs: 5_000,
  retryMs: 50,
  maxSocketBytes: 64 * 1024,
});
const httpServer = createServer(router);
setInterval(() => server.notifyToolsChanged(), 500);

httpServer.listen({ port: Number(process.env.PORT ?? 0), host: '127.0.0.1', backlog: 2_048 }, () => {
  process.on('message', () => void condition().then((answer) => process.send!(answer)));
  process.send!((httpServer.address() as AddressInfo).port);
});

/** More than one collection, with the event loop between: what is finalized frees more. */
async function condition(): Promise<Condition> {
  for (let count = 0; count < 4; count += 1) {
    globalThis.gc?.();
    await setImmediate();
  }
  const handles: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) handles[kind] = (handles[kind] ?? 0) + 1;
  return { heapBytes: process.memoryUsage().heapUsed, handles, stats: router.stats(), ran, errors };
}
