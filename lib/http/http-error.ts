/** A refusal with its HTTP status, and how it is sent. */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { ErrorCode, errorResponse } from '../protocol/errors';
import type { RequestId } from '../protocol/types';

interface HttpErrorDetails extends ErrorOptions {
  /** Extra headers, `Retry-After` or `Allow` for example. */
  headers?: OutgoingHttpHeaders;
  /** The refused request's id, when it could be read. */
  id?: RequestId;
  data?: unknown;
}

/** A request that HTTP refuses: becomes a JSON-RPC error under this status. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly headers: OutgoingHttpHeaders | undefined;
  readonly id: RequestId | undefined;
  readonly data: unknown;

  constructor(
    readonly status: number,
    readonly code: ErrorCode,
    message: string,
    { headers, id, data, ...options }: HttpErrorDetails = {},
  ) {
    super(message, options);
    this.headers = headers;
    this.id = id;
    this.data = data;
  }
}

/** How long a client that is turned away should wait, in seconds. */
const retryAfterSeconds = 5;

/** A refusal that may be over soon. */
export function tryLater(status: 429 | 503, message: string): HttpError {
  return new HttpError(status, ErrorCode.InvalidRequest, message, { headers: { 'Retry-After': retryAfterSeconds } });
}

export function shuttingDown(): HttpError {
  return tryLater(503, 'The server is shutting down');
}

/** Has somebody answered already, or the client gone? */
export function isTaken(res: ServerResponse): boolean {
  return res.headersSent || res.destroyed;
}

/** Answer with `error`, as JSON. */
export function sendError(res: ServerResponse, error: HttpError): void {
  sendJson(
    res,
    error.status,
    JSON.stringify(errorResponse(error.id, error.code, error.message, error.data)),
    error.headers,
  );
}

/** Up to this length Node joins head and body to one string and encodes them at once; beyond, the joining costs more. */
const shortText = 8_192;

/** Answer with a JSON text; one write, of known length. @param start Comes before it, encoded already. */
export function sendJson(
  res: ServerResponse,
  status: number,
  json: string,
  headers?: OutgoingHttpHeaders,
  start?: Buffer,
): void {
  // Two short parts are one.
  if (start !== undefined && start.length <= shortText)
    return sendJson(res, status, `${start.toString()}${json}`, headers);
  const body = json.length > shortText ? Buffer.from(json) : json;
  const length = Buffer.byteLength(body) + (start?.length ?? 0);
  res.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': length, ...headers });
  if (start !== undefined) res.write(start);
  res.end(body);
}
