/** serveStdio: the server on the process's own streams. Options are checked here, once. */
import type { Readable, Writable } from 'node:stream';
import { checkSensitive } from '../authorizer/sensitive';
import { quietly } from '../quietly';
import { coreOf, McpServer } from '../server';
import { checkCount } from '../settings';
import { Serving } from './serving';

/** Options of {@link serveStdio}. Read once, when it is called. */
export interface StdioOptions {
  /** Where messages come from. @default process.stdin */
  stdin?: Readable;
  /** Where messages go. @default process.stdout, and then whatever else is printed there goes to stderr meanwhile */
  stdout?: Writable;
  /** Who the client is, for the authorizer. @default nobody in particular */
  principal?: string;
  /** Longest message, in bytes; a longer one gets an error, and is skipped. @default 4 MiB */
  maxLineBytes?: number;
  /** Bytes that may wait for a client that does not read; with more the connection ends. @default 16 MiB */
  maxWaitingBytes?: number;
  /** Requests that may run at a time, subscriptions included; more are refused. @default 1_000 */
  maxCalls?: number;
  /** Hears of the faults of the streams. Must not throw. @default the server's `onError` */
  onError?: (error: unknown) => void;
}

/** A server at work, as {@link serveStdio} returns it. */
export interface StdioServer {
  /**
   * Refuse new requests, let running ones finish, end subscriptions with their result, stop reading. A second call waits
   * for the first.
   *
   * @param options `graceMs`: how long requests may take to finish, in milliseconds; then they are cancelled. `Infinity`: as
   *   long as they take. Default 10_000. Rejects with a RangeError if it is no such number.
   */
  close(options?: { graceMs?: number }): Promise<void>;
  /** Settles when it is over: closed, stdin at its end, or a stream broken. Never rejects. */
  readonly closed: Promise<void>;
}

/**
 * Serve one client over standard input and output: a JSON-RPC message a line, every revision. The end of stdin cancels
 * what runs; nothing of ours then keeps the process alive.
 *
 * @example
 * serveStdio(server);
 * @throws {TypeError | RangeError} for an option that makes no sense, for streams that are served already, and for a
 *   sensitive tool while the server has no `authorizer`.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
 */
export function serveStdio(server: McpServer, options: StdioOptions = {}): StdioServer {
  if (!(server instanceof McpServer))
    throw new TypeError('serveStdio(server): server must be an McpServer of this package');
  const core = coreOf(server);
  checkSensitive(core, 'serveStdio');
  const { stdin = process.stdin, stdout = process.stdout, principal } = options;
  const { maxLineBytes = 4 * 1024 * 1024, maxWaitingBytes = 16 * 1024 * 1024, maxCalls = 1_000 } = options;
  if (principal !== undefined && (typeof principal !== 'string' || principal === ''))
    throw new TypeError('serveStdio(…, { principal }): must be a name');
  const settings = {
    stdin,
    stdout,
    connection: { transport: 'stdio', ...(principal === undefined ? undefined : { principal }) } as const,
    maxLineBytes: checkCount('serveStdio(…, { maxLineBytes }):', maxLineBytes),
    maxWaitingBytes: checkCount('serveStdio(…, { maxWaitingBytes }):', maxWaitingBytes),
    maxCalls: checkCount('serveStdio(…, { maxCalls }):', maxCalls),
    onError: options.onError === undefined ? core.onError : quietly(options.onError),
  };
  return new Serving(server, settings);
}
