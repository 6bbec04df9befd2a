/** A proxy that sends each request to the next of several ports. */
import { createServer, request } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface RoundRobin {
  port: number;
  /** Cut about this share of the answers that are under way. */
  cut(share: number): number;
  close(): Promise<void>;
}

/**
 * Each request goes to the next port. What either side cuts is cut on the other. A port where nobody listens is passed
 * over, as balancers do: nothing of the request has been sent then.
 */
export async function createRoundRobin(ports: readonly number[]): Promise<RoundRobin> {
  let turn = 0;
  const answering = new Set<ServerResponse>();

  function pass(req: IncomingMessage, res: ServerResponse, left: number): void {
    const port = ports[turn++ % ports.length];
    const { method, rawHeaders: headers, url } = req;
    const onward = request({ host: '127.0.0.1', port, method, path: url, headers, agent: false }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      res.flushHeaders();
      answer.on('error', () => res.destroy());
      answer.pipe(res);
    });
    onward.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'ECONNREFUSED' && left > 1 && !res.destroyed) pass(req, res, left - 1);
      else res.destroy();
    });
    res.on('close', () => onward.destroy());
    // Not before somebody is there: what is read is gone.
    onward.on('socket', (socket) => socket.once('connect', () => req.pipe(onward)));
  }

  const proxy = createServer((req, res) => {
    answering.add(res);
    res.on('close', () => answering.delete(res));
    pass(req, res, ports.length);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    port: (proxy.address() as AddressInfo).port,
    cut(share) {
      const cut = [...answering].filter(() => Math.random() < share);
      for (const res of cut) res.destroy();
      return cut.length;
    },
    async close() {
      const closed = new Promise((resolve) => proxy.close(resolve));
      proxy.closeAllConnections();
      await closed;
    },
  };
}
