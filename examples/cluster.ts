// node -r esbuild-register examples/cluster.ts
/** Three processes that share their sessions on Redis, behind a proxy that sends each request to the next of them. */
import { fork, spawn } from 'node:child_process';
import { createServer, request } from 'node:http';
import express from 'express';
import { McpServer, mcpRouter } from 'express-mcp';
import { redisSessions } from 'express-mcp/redis';
import { createClient } from 'redis';

const { PORT = '3012', NODE_PORT, REDIS_URL, MCP_SECRET = 'for this machine only: 32 bytes or more' } = process.env;
if (NODE_PORT === undefined) balance();
else serve(Number(NODE_PORT), createClient({ url: REDIS_URL! }));

/** One of the processes. */
function serve(port: number, client: ReturnType<typeof createClient>): void {
  const server = new McpServer({ name: 'cluster', version: '1.0.0' }, { secrets: [MCP_SECRET] });
  server.registerTool('whoami', { description: 'Name the process that answers' }, () => `process ${process.pid}`);
  const router = mcpRouter(server, { sessions: redisSessions({ client }) });
  const app = express();
  app.use('/mcp', router);
  app.listen(port, '127.0.0.1', () => process.send!('ready'));
  process.once('disconnect', () => process.exit());
}

/** All of it on one machine: Redis, unless REDIS_URL names one, three processes, and the proxy. */
function balance(): void {
  const first = Number(PORT);
  const redis = REDIS_URL ?? `redis://127.0.0.1:${first + 4}`;
  if (REDIS_URL === undefined) {
    const settings = ['--port', String(first + 4), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    const child = spawn('redis-server', settings, { stdio: 'ignore' });
    process.once('exit', () => child.kill());
  }
  const ports = [1, 2, 3].map((n) => first + n);
  let ready = 0;
  for (const port of ports) {
    const child = fork(__filename, { env: { ...process.env, NODE_PORT: String(port), REDIS_URL: redis } });
    child.on('message', () => {
      ready += 1;
      if (ready === ports.length) console.log(`MCP endpoint: http://127.0.0.1:${PORT}/mcp, three processes behind it`);
    });
  }
  let turn = 0;
  const proxy = createServer((req, res) => {
    const { method, url: path, headers } = req;
    const onward = request(
      { host: '127.0.0.1', port: ports[turn++ % ports.length], method, path, headers },
      (answer) => {
        res.writeHead(answer.statusCode!, answer.headers).flushHeaders();
        answer.pipe(res);
      },
    );
    onward.on('error', () => res.destroy());
    res.on('close', () => onward.destroy());
    req.pipe(onward);
  });
  proxy.listen(first, '127.0.0.1');
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit());
}
