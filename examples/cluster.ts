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
  const app = express();
  app.use('/mcp', mcpRouter(server, { sessions: redisSessions({ client }) }));
  app.listen(port, '127.0.0.1', (error) => {
    if (error) throw error;
    process.send!('ready', () => undefined); // who started it may be gone
  });
  process.once('disconnect', () => process.exit());
}

/** All of it on one machine: Redis, unless REDIS_URL names one; three processes, of which you may kill any; the proxy. */
function balance(): void {
  const [first, redisPort] = [Number(PORT), Number(PORT) + 4];
  if (REDIS_URL === undefined) {
    const settings = ['--port', String(redisPort), '--bind', '127.0.0.1', '--save', ''];
    const child = spawn('redis-server', settings, { stdio: 'ignore' });
    child.on('error', () => end('redis-server is not installed; set REDIS_URL'));
    child.on('exit', () => end(`redis-server has ended; is port ${redisPort} taken?`));
    process.once('exit', () => child.kill());
  }
  const env = { REDIS_URL: `redis://127.0.0.1:${redisPort}`, ...process.env };
  let [ready, turn] = [0, 0];
  for (const port of [1, 2, 3].map((n) => first + n)) {
    const child = fork(__filename, { env: { ...env, NODE_PORT: String(port) } });
    child.on('message', () => ++ready === 3 && console.log(`MCP endpoint: http://127.0.0.1:${PORT}/mcp`));
    child.on('exit', (code) => code && end(`The process on port ${port} has ended`));
  }
  createServer((req, res) => {
    const { method, url: path, headers } = req;
    const onward = request({ host: '127.0.0.1', port: first + 1 + (turn++ % 3), method, path, headers }, (answer) => {
      res.writeHead(answer.statusCode!, answer.headers).flushHeaders();
      answer.pipe(res);
    });
    res.on('close', () => onward.destroy());
    req.pipe(onward.on('error', () => res.destroy()));
  }).listen(first, '127.0.0.1');
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit());
}

function end(reason: string): never {
  console.error(reason);
  process.exit(1);
}
