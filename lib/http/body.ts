/** The JSON value of a POST, read from the wire or taken over from the host's body parser. */
import { isAscii } from 'node:buffer';
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { isUint8Array } from 'node:util/types';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { ErrorCode } from '../protocol/errors';
import { HttpError } from './http-error';

/** A request that a body parser may have been at. */
export type MessageRequest = IncomingMessage & {
  body?: unknown;
  /** Set by body-parser 1.x when it has read the body; its `body = {}` alone means nothing. */
  _body?: boolean;
};

type Decoder = typeof gunzip;

const DECODERS: ReadonlyMap<string, Decoder> = new Map([
  ['gzip', gunzip],
  ['x-gzip', gunzip],
  ['deflate', inflate],
  ['br', brotliDecompress as Decoder], // the options differ, but not the one used here
]);

const BODY_IS_GONE =
  'A middleware has read the request body and left no `req.body`. Mount mcpRouter before it, or express.json() before both.';

const EMPTY = Buffer.alloc(0);

/** Throws where bytes are not UTF-8. Leaves a byte order mark to {@link parseText}. */
const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** How long a refused client that is still sending may take to read the answer. */
const LINGER_MS = 2_000;

/**
 * Read the message that `req` carries and parse its JSON. A body that the host has parsed (`express.json`, `.text`, `.raw`)
 * is taken over, and not limited again. Otherwise at most `maxBodyBytes` are read, and at most as many inflated.
 *
 * @throws {HttpError} 400 if it is not JSON in UTF-8, or the client hangs up; 413 beyond the limit; 415 for an unknown
 * `Content-Encoding`; 500 if something has read the body and left none. Thrown, or a rejection.
 */
export function readMessageBody(req: MessageRequest, headers: IncomingHttpHeaders, maxBodyBytes: number): unknown {
  const { body } = req;
  // Every look at a request costs: Express gives each a shape of its own. Nearly always this one is enough.
  if (body !== undefined || !req.readable || req.readableDidRead) {
    const isUnread = !req.readableDidRead && !req.readableEnded && req._body !== true;
    if (body !== undefined && !(isUnread && isBlank(body))) return parseHostBody(body, headers);
    if (req.destroyed && !req.readableEnded) throw hungUp();
    if (!isUnread) throw new HttpError(500, ErrorCode.InternalError, BODY_IS_GONE);
  }

  const decoder = decoderOf(headers['content-encoding']);
  if (Number(headers['content-length']) > maxBodyBytes) throw refuseTheRest(req, maxBodyBytes);

  return new Promise((resolve, reject) => {
    collect(req, Number(headers['content-length']), maxBodyBytes, {
      done: (bytes) => resolve(decoder === undefined ? parseBytes(bytes) : inflated(bytes, decoder, maxBodyBytes)),
      fail: reject,
    });
  });
}

function inflated(bytes: Uint8Array, decoder: Decoder, maxBodyBytes: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    decoder(bytes, { maxOutputLength: maxBodyBytes }, (error, inflated) => {
      if (error !== null) return reject(toHttpError(error, maxBodyBytes));
      try {
        resolve(parseBytes(inflated));
      } catch (error) {
        reject(error as HttpError);
      }
    });
  });
}

/** Who waits for a body: one of the two is called, once. */
interface Reader {
  /** All of it. What this throws is handed to `fail`. */
  done(bytes: Uint8Array): void;
  /** Refused or cut off. */
  fail(error: unknown): void;
}

/** @param announced The length that the client says; NaN where it does not. */
function collect(req: IncomingMessage, announced: number, maxBodyBytes: number, given: Reader): void {
  let reader: Reader | undefined = given;
  let bytes: Buffer | undefined;
  let length = 0;

  function onData(chunk: Buffer | string): void {
    // Text, when a middleware has called `setEncoding`.
    const part = typeof chunk === 'string' ? Buffer.from(chunk, req.readableEncoding ?? 'utf8') : chunk;
    const end = length + part.length;
    if (end > maxBodyBytes) return stop(refuseTheRest(req, maxBodyBytes));
    if (bytes === undefined) {
      bytes = part;
    } else {
      // One growing buffer, not a list of chunks: a list of one-byte chunks would take a hundred times their size.
      if (end > bytes.length) bytes = grow(bytes, length, end, announced);
      bytes.set(part, length);
    }
    length = end;
  }
  function onEnd(): void {
    const { done, fail } = reader!;
    const whole = bytes?.length === length ? bytes : (bytes?.subarray(0, length) ?? EMPTY);
    // The listeners stay, since removing them costs more than all else here: they keep nothing, and only 'close' comes.
    reader = bytes = undefined;
    try {
      done(whole);
    } catch (error) {
      fail(error);
    }
  }
  function stop(refusal?: HttpError): void {
    if (reader === undefined) return;
    req.off('data', onData);
    req.off('end', onEnd);
    req.off('close', stop);
    reader.fail(refusal ?? hungUp());
  }

  // No 'error': a request reports one only to those who listen, and closes in any case.
  req.on('data', onData);
  req.on('end', onEnd);
  req.on('close', stop);
  if (req.isPaused()) req.resume();
}

/** Twice as large; or all that was announced, once an eighth of it is there: an announcement alone takes no memory. */
function grow(bytes: Buffer, used: number, needed: number, announced: number): Buffer {
  const size = announced <= 8 * used ? announced : 2 * bytes.length;
  const grown = Buffer.allocUnsafe(Math.max(needed, size));
  bytes.copy(grown, 0, 0, used);
  return grown;
}

/**
 * Make the 413, and keep the connection open behind it: closed with input unread, it would be reset, and the client could
 * lose the answer (RFC 9112, 9.6). What still comes is thrown away, up to the limit again, then held back.
 */
function refuseTheRest(req: IncomingMessage, maxBodyBytes: number): HttpError {
  const { socket } = req;
  // Called by Node after an answer with `Connection: close`.
  socket.destroySoon = () => socket.end();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(timer));

  let rest = maxBodyBytes;
  req.on('data', function discard(chunk: Buffer | string) {
    rest -= chunk.length;
    if (rest < 0) req.pause();
  });
  req.resume();
  return tooLarge(maxBodyBytes, { Connection: 'close' });
}

function decoderOf(contentEncoding: string | undefined): Decoder | undefined {
  if (contentEncoding === undefined) return undefined;
  const coding = contentEncoding.toLowerCase();
  const decoder = DECODERS.get(coding);
  if (decoder !== undefined || coding === 'identity') return decoder;
  throw new HttpError(415, ErrorCode.InvalidRequest, 'Content-Encoding must be gzip, deflate or br', {
    headers: { 'Accept-Encoding': 'gzip, deflate, br' },
  });
}

function parseHostBody(body: unknown, headers: IncomingHttpHeaders): unknown {
  if (isUint8Array(body)) return parseBytes(body);
  if (typeof body !== 'string') return body;
  try {
    return parseText(body);
  } catch (error) {
    // `express.json({ strict: false })` leaves text as well: the value of a JSON string, known by its length in JSON.
    if (Buffer.byteLength(JSON.stringify(body)) === Number(headers['content-length'])) return body;
    throw error;
  }
}

function parseBytes(bytes: Uint8Array): unknown {
  return parseText(isAscii(bytes) ? toBuffer(bytes).toString('latin1') : decodeUtf8(bytes));
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return UTF_8.decode(bytes);
  } catch (cause) {
    throw new HttpError(400, ErrorCode.ParseError, 'Parse error: the body is not UTF-8', { cause });
  }
}

/** The same bytes. */
function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  } catch (cause) {
    // The engine's message quotes the input: it stays in `cause`.
    throw new HttpError(400, ErrorCode.ParseError, 'Parse error: the body is not JSON', { cause });
  }
}

/** Whether a body could be the placeholder of a parser or framework that has read nothing. */
function isBlank(body: unknown): boolean {
  return body === null || body === '' || (typeof body === 'object' && Object.keys(body).length === 0);
}

function toHttpError(cause: NodeJS.ErrnoException, maxBodyBytes: number): HttpError {
  if (cause.code === 'ERR_BUFFER_TOO_LARGE') return tooLarge(maxBodyBytes);
  return new HttpError(400, ErrorCode.ParseError, 'Parse error: the body is not what Content-Encoding says', { cause });
}

function tooLarge(maxBodyBytes: number, headers?: OutgoingHttpHeaders): HttpError {
  const message = `The body is larger than ${maxBodyBytes} bytes`;
  return new HttpError(413, ErrorCode.InvalidRequest, message, { ...(headers && { headers }) });
}

function hungUp(): HttpError {
  return new HttpError(400, ErrorCode.InvalidRequest, 'The client hung up before the end of the body');
}
