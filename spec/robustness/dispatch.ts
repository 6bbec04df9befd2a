/** A request handler called without a socket: the same request and response objects, no kernel and no framing. */
import { IncomingMessage, ServerResponse } from 'node:http';
import type { IncomingHttpHeaders, RequestListener } from 'node:http';
import { Socket } from 'node:net';
import { Readable, Writable } from 'node:stream';
import type { Input } from './traffic';

/**
 * What was answered; undefined for a stream that would stay open, and is cut once it has begun.
 *
 * @param isListening Does a stream stay open?
 */
export async function dispatchTo(
  handler: RequestListener,
  input: Input,
  isListening: boolean,
): Promise<IncomingMessage | undefined> {
  const req = new IncomingMessage(new Socket());
  // HTTP/1.0: the answer comes in one piece, unchunked.
  Object.assign(req, { method: input.method, url: '/', httpVersionMajor: 1, httpVersionMinor: 0 });
  req.headers = headersOf(input);
  if (input.body.length > 0) req.push(input.body);
  req.push(null);
  req.complete = true;
  const res = new ServerResponse(req);
  const chunks: Buffer[] = [];
  let cut = false;
  const socket = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
      if (!isListening || !/^content-type: text\/event-stream/im.test(chunks[0]!.toString('latin1'))) return;
      cut = true;
      res.destroy();
    },
  });
  const over = new Promise<void>((resolve) => res.once('finish', resolve).once('close', resolve));
  res.assignSocket(socket as Socket); // as much of one as ServerResponse asks for
  handler(req, res);
  await over;
  res.emit('close');
  const answer = parse(Buffer.concat(chunks));
  return cut ? undefined : answer;
}

function headersOf({ headers, body }: Input): IncomingHttpHeaders {
  const given = Object.entries({ Host: '127.0.0.1', 'Content-Type': 'application/json', Accept: accept, ...headers });
  const lines = given.flatMap(([name, value]) =>
    value === undefined ? [] : [[name.toLowerCase(), String(value).trim()] as const],
  );
  return { ...Object.fromEntries(lines), 'content-length': String(body.length) };
}

export const accept = 'application/json, text/event-stream';

/** The bytes of one answer as a client has them. @throws {Error} where they are none. */
export function parse(bytes: Buffer): IncomingMessage {
  const end = bytes.indexOf('\r\n\r\n');
  const [line = '', ...fields] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const statusCode = Number(/^HTTP\/1\.1 (\d{3}) [A-Z][A-Za-z -]*$/.exec(line)?.[1]);
  if (end < 0 || !(statusCode >= 200)) throw new Error(`Not an answer: ${bytes.subarray(0, 200).toString('latin1')}`);
  const pairs = fields.map((field) => {
    const colon = field.indexOf(': ');
    if (colon < 1) throw new Error(`Not a header line: ${field}`);
    return [field.slice(0, colon).toLowerCase(), field.slice(colon + 2)];
  });
  const headers = Object.fromEntries(pairs) as IncomingHttpHeaders;
  const body = bytes.subarray(end + 4);
  // All of an answer that its readers look at.
  return Object.assign(Readable.from(body.length > 0 ? [body] : []), { statusCode, headers }) as IncomingMessage;
}
