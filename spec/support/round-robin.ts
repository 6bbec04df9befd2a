/** A proxy that sends each request to the next of several ports. */
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Each request goes to the next port. What either side cuts is cut on the other. */
export async function createRoundRobin(ports: readonly number[]): Promise<{ port: number; close(): Promise<void> }> {
  let turn = 0;
  const proxy = createServer((req, res) => {
    const port = ports[turn++ % ports.length];
    const { method, headers, url } = req;
    const onward = request({ host: '127.0.0.1', port, method, path: url, headers, agent: false }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      res.flushHeaders();
      answer.on('error', () => res.destroy());
      answer.pipe(res);
    });
    onward.on('error', () => res.destroy());
    res.on('close', () => onward.destroy());
    req.pipe(onward);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    port: (proxy.address() as AddressInfo).port,
    async close() {
      const closed = new Promise((resolve) => proxy.close(resolve));
      proxy.closeAllConnections();
      await closed;
    },
  };
}
