/** The least that Node can do: the same echo on `node:http`, without a framework and without a protocol. */
import type { BenchServer } from '../bench-server';

interface Call {
  id: number;
  params: { arguments: { text: string } };
}

export function createBenchServer(): BenchServer {
  return {
    listener(req, res) {
      const chunks: Buffer[] = [];
      req.on('data', (chunk: Buffer) => chunks.push(chunk));
      req.on('end', () => {
        const { id, params } = JSON.parse(Buffer.concat(chunks).toString()) as Call;
        const result = { content: [{ type: 'text', text: params.arguments.text }] };
        const body = JSON.stringify({ jsonrpc: '2.0', id, result });
        res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
        res.end(body);
      });
    },
  };
}
