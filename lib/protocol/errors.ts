/** The errors an author may throw, and the codes that travel. */
import type { JsonRpcErrorResponse, RequestId } from './types';

/**
 * JSON-RPC and MCP error codes.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic#error-codes
 */
export const ErrorCode = {
  ParseError: -32700,
  InvalidRequest: -32600,
  MethodNotFound: -32601,
  InvalidParams: -32602,
  InternalError: -32603,
  /** Legacy revisions only: the resource does not exist. */
  ResourceNotFound: -32002,
  /** 2025-11-25 only: the call needs the user to open a page first. */
  UrlElicitationRequired: -32042,
  /** Modern: a header does not match the body. */
  HeaderMismatch: -32020,
  /** Modern: the client has not declared what the request needs. */
  MissingRequiredClientCapability: -32021,
  /** Modern: the server does not speak this revision. */
  UnsupportedProtocolVersion: -32022,
} as const;

/** Any of {@link ErrorCode}, or a code of the application's own outside -32768 to -32000. */
export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode] | (number & {});

/** A failure the client is told about as a JSON-RPC error. */
export class McpError extends Error {
  override readonly name = 'McpError';
  constructor(
    /** JSON-RPC or MCP error code. */
    readonly code: ErrorCode,
    /** Sent to the client as it stands: no secrets, no stack. */
    message: string,
    /** Sent to the client as it stands; JSON. */
    readonly data?: unknown,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * A tool's failure that the model should read: the call answers a result with `isError: true` and this message.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#error-handling
 */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}

/** Something that is needed is away or full, perhaps not for long. The message is sent to the client; over HTTP: 503. */
export class UnavailableError extends Error {
  override readonly name = 'UnavailableError';
}

/** Thrown by a `verify` of `bearerAuth`: the token is no good, and the message says why (401). */
export class InvalidTokenError extends Error {
  override readonly name = 'InvalidTokenError';
}

/** The message of an Error that is somebody else's: reading it may throw. */
export function readMessage(error: Error): string {
  try {
    return String(error.message);
  } catch {
    // A failure that cannot say what it is must be answered all the same.
    return 'An error whose message cannot be read';
  }
}

/** The error response for `id`; without one where the request's id could not be read. */
export function errorResponse(
  id: RequestId | undefined,
  code: ErrorCode,
  message: string,
  data?: unknown,
): JsonRpcErrorResponse {
  return {
    jsonrpc: '2.0',
    ...(id === undefined ? undefined : { id }),
    error: data === undefined ? { code, message } : { code, message, data },
  };
}
