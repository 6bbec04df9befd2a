/** A client that opens an answer and does not read it until it is told to. */
import type { IncomingMessage } from 'node:http';
import { beginRequest, readReply, responseTo } from './exchange';
import type { Exchange, Reply } from './exchange';

export interface Stalled {
  status: number;
  /** Read what there is, to the end; a connection that was cut ends there. */
  read(): Promise<Reply>;
  /** Read on without keeping anything. */
  discard(): void;
  close(): void;
}

const responses = new Set<IncomingMessage>();

/** Cut what {@link openStalled} opened. */
export function closeStalled(): void {
  for (const res of responses) res.destroy();
  responses.clear();
}

export async function openStalled(url: string, exchange: Exchange = {}): Promise<Stalled> {
  const req = beginRequest(url, { method: 'GET', ...exchange });
  const answered = responseTo(req);
  const body = exchange.body === undefined ? undefined : JSON.stringify(exchange.body);
  if (body !== undefined) req.setHeader('Content-Length', Buffer.byteLength(body));
  req.end(body);
  const res: IncomingMessage = await answered;
  responses.add(res);
  res.on('error', () => undefined);
  return {
    status: res.statusCode!,
    read: () => readReply(res, exchange),
    discard: () => void res.resume(),
    close: () => void res.destroy(),
  };
}
