/** An app on a free port of this machine, for as long as a client needs it. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An Express app, a router of this package, or any other listener of `http.createServer`. */
export type RequestHandler = (req: IncomingMessage, res: ServerResponse) => unknown;

/** Serve `app` on 127.0.0.1. */
export async function serveOnLoopback(app: RequestHandler): Promise<{ origin: string; close(): Promise<void> }> {
  const http = createServer((req, res) => void app(req, res));
  await new Promise<void>((resolve, reject) => {
    http.once('error', reject);
    http.listen(0, '127.0.0.1', resolve);
  });
  return {
    origin: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    async close() {
      const closed = new Promise((resolve) => http.close(resolve));
      http.closeAllConnections();
      await closed;
    },
  };
}
