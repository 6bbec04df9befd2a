/** JSON-RPC 2.0: from a JSON value to a message, and from a response to its text. Pure. */
import { ErrorCode, McpError } from './errors';
import type { JsonRpcNotification, JsonRpcRequest, JsonRpcResponse, RequestId } from './types';

/** A message with its kind, told once. */
export type ParsedMessage =
  | { kind: 'request'; message: JsonRpcRequest }
  | { kind: 'notification'; message: JsonRpcNotification }
  | { kind: 'response'; message: JsonRpcResponse };

/** Is it an object with keys: neither null nor an array? */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A string, or an integer that JSON.parse did not round: another number would come back changed. */
export function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' || Number.isSafeInteger(value);
}

/** The id to answer `value` under where it is refused: that of a request, never that of a response, which is the server's own. */
export function readableIdOf(value: unknown): RequestId | undefined {
  if (!isObject(value) || !isRequestId(value.id)) return undefined;
  return !('method' in value) && ('result' in value || 'error' in value) ? undefined : value.id;
}

/**
 * Tell what kind of message `value` is.
 *
 * @throws {McpError} if it is none; {@link readableIdOf} has the id to answer it under.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic#messages
 */
export function parseMessage(value: unknown): ParsedMessage {
  if (!isObject(value)) throw invalid('A message must be a JSON object');
  if (value.jsonrpc !== '2.0') throw invalid('jsonrpc must be "2.0"');
  if (!('method' in value)) return { kind: 'response', message: parseResponse(value) };
  if (typeof value.method !== 'string') throw invalid('method must be a string');
  if ('result' in value || 'error' in value) throw invalid('A message is a request or a response, not both');
  const hasId = 'id' in value;
  // basic, "Requests": a string or integer id, never null.
  if (hasId && !isRequestId(value.id)) throw invalid('id must be a string or a safe integer');
  // A null from clients that cannot leave a field out counts as absent.
  if (value.params === null) value.params = undefined;
  if (value.params !== undefined && !isObject(value.params))
    throw new McpError(ErrorCode.InvalidParams, 'params must be an object');
  return hasId
    ? { kind: 'request', message: value as unknown as JsonRpcRequest }
    : { kind: 'notification', message: value as unknown as JsonRpcNotification };
}

function parseResponse(value: Record<string, unknown>): JsonRpcResponse {
  const hasResult = 'result' in value;
  if (hasResult === 'error' in value) throw invalid('A message needs a method, a result or an error');
  if (hasResult && !isRequestId(value.id)) throw invalid('id must be a string or a safe integer');
  if (hasResult ? !isObject(value.result) : !isErrorObject(value.error))
    throw invalid(hasResult ? 'result must be an object' : 'error must have a code and a message');
  return value as unknown as JsonRpcResponse;
}

function invalid(message: string): McpError {
  return new McpError(ErrorCode.InvalidRequest, message);
}

function isErrorObject(value: unknown): boolean {
  return isObject(value) && Number.isInteger(value.code) && typeof value.message === 'string';
}

/** A result that was encoded beforehand and is sent again and again, each time under another id. */
export class EncodedResult {
  [field: string]: unknown;
  /** The response's JSON up to its id. */
  readonly start: Buffer;

  constructor(result: unknown) {
    this.start = Buffer.from(`{"jsonrpc":"2.0","result":${JSON.stringify(result)},"id":`);
  }

  /** The response's JSON from its id on. */
  end(id: RequestId | undefined): string {
    return `${JSON.stringify(id)}}`;
  }
}

/** The result of `response`, if it is one that was encoded beforehand. */
export function encodedResultOf(response: JsonRpcResponse): EncodedResult | undefined {
  return 'result' in response && response.result instanceof EncodedResult ? response.result : undefined;
}

/** The response as plain data, for those who do not send it as text. */
export function plainResponse(response: JsonRpcResponse): JsonRpcResponse {
  return encodedResultOf(response) === undefined ? response : (JSON.parse(encodeResponse(response)) as JsonRpcResponse);
}

/** The response's JSON, with the id exactly as it came. */
export function encodeResponse(response: JsonRpcResponse): string {
  const encoded = encodedResultOf(response);
  return encoded === undefined ? JSON.stringify(response) : encoded.start.toString() + encoded.end(response.id);
}
