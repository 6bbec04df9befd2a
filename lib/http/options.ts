/** The options of a mount: checked once, with their defaults. */
import type { IncomingMessage } from 'node:http';
import type { Context } from '../context';
import type { SessionEndReason } from '../sessions/session';
import type { SessionStore } from '../sessions/session-store';
import { MemorySessionStore } from '../sessions/memory-session-store';
import { checkCount, checkDuration, checkKeys, hintFor } from '../settings';
import type { Keys } from '../settings';
import type { HttpError } from './http-error';
import type { OriginOptions } from './origin';

/** A logger of pino's kind: one record and one line per event. */
export interface Logger {
  info(record: object, message: string): void;
  warn(record: object, message: string): void;
  error(record: object, message: string): void;
}

/** Why a session ended, for {@link McpRouterOptions.onSessionEnd}. */
export interface SessionEnd {
  readonly sessionId: string;
  readonly principal: string | undefined;
  readonly reason: SessionEndReason;
}

/** Options of `mcpRouter`. Read once, when the router is made. `undefined` equals absent. */
export interface McpRouterOptions extends OriginOptions {
  /** Where the endpoint is, relative to the mount; for a router in front of the app (`createServer`), its path. @default '/' */
  path?: string;
  /**
   * Who calls, where the app has its own login: the id of its user, or undefined for nobody. What `bearerAuth` verified
   * needs no such function.
   */
  principal?(req: IncomingMessage): string | undefined;
  /** Where sessions are kept. @default a MemorySessionStore: they end with the process */
  sessions?: SessionStore;
  /** Offer legacy clients a stream for what the server says on its own (GET); without it, GET is 405. @default true */
  serverMessages?: boolean;
  /**
   * `'always'` answers requests of sessions with a stream from the start, where the client takes one: a client of
   * 2025-11-25 can then resume any call. Modern clients cannot resume; they are answered as with `'auto'`, under the
   * status that the answer has.
   *
   * @default 'auto': a stream from the first message that precedes the result, or after `keepAliveMs`
   */
  stream?: 'auto' | 'always';
  /** A silent stream gets a comment, and a silent reply becomes a stream, after this many milliseconds. @default 15_000 */
  keepAliveMs?: number;
  /** Largest request body in bytes, inflated. A body that the host has parsed is not measured again. @default 4 MiB */
  maxBodyBytes?: number;
  /** Messages in a batch (2025-03-26). @default 100 */
  maxBatch?: number;
  /** Sessions at once. @default 10_000 */
  maxSessions?: number;
  /** Sessions of one principal at once. @default 100 */
  maxSessionsPerPrincipal?: number;
  /** Idle time after which a session ends, in milliseconds. @default 1_800_000 (30 minutes) */
  sessionIdleMs?: number;
  /** Messages that may wait for a session's stream; one more and the session fails. @default 1_000 */
  inboxLimit?: number;
  /** Bytes that may wait for a session's stream. @default 1 MiB */
  inboxBytes?: number;
  /** Bytes that may wait on one socket; then messages wait in the inbox. @default 1 MiB */
  maxSocketBytes?: number;
  /** Messages of a stream kept for a client that resumes it. @default 1_000 */
  historyLimit?: number;
  /** Bytes of a stream kept for a client that resumes it. @default 1 MiB */
  historyBytes?: number;
  /** How long a finished stream can be resumed, in milliseconds. @default 60_000 */
  historyMs?: number;
  /** How long a client should wait before it reconnects, in milliseconds; sent with up to half as much again at random. @default 1_000 */
  retryMs?: number;
  /** Streams are closed at this age, in milliseconds, and clients that can resume come back. @default none */
  maxStreamAgeMs?: number;
  /** Open streams of one principal. @default 100 */
  maxStreamsPerPrincipal?: number;
  /** Streams open to listen at once (GET, `subscriptions/listen`). @default 10_000 */
  maxStreams?: number;
  /** Calls running at once. @default 1_000 */
  maxCalls?: number;
  /** Calls of one principal running at once. @default 100 */
  maxCallsPerPrincipal?: number;
  /** Calls of one session running at once. @default 100 */
  maxCallsPerSession?: number;
  /** Calls waiting for a human at once (legacy). @default 1_000 */
  maxParked?: number;
  /** Calls of one principal waiting for a human at once (legacy). @default 16 */
  maxParkedPerPrincipal?: number;
  /** Time limit of a tool call in milliseconds, where the tool has none of its own. @default the server's, none */
  toolTimeoutMs?: number;
  /** Hears of every fault that the caller is not told about. Must not throw. @default the server's onError */
  onError?: (error: unknown, context?: Context) => void;
  /** Hears of every request refused before it was dispatched. */
  onReject?: (refusal: HttpError, req: IncomingMessage) => void;
  /** Hears of every session's end, with the reason. */
  onSessionEnd?: (end: SessionEnd) => void;
  /** Hears once, at mount, what is served to whom. */
  onReady?: (posture: Posture) => void;
  /** One structured line per event. @default none */
  logger?: Logger;
}

/** What a mount serves to whom, told once. */
export interface Posture {
  readonly eras: readonly string[];
  readonly origins: readonly string[];
  readonly allowedHosts: readonly string[];
  readonly authorizer: 'none' | 'configured' | 'default' | 'allowAll';
  readonly readAuthorizer: 'none' | 'configured' | 'default' | 'allowAll';
  readonly sensitiveTools: readonly string[];
  readonly sessionStore: string;
  readonly limits: Readonly<Record<string, number>>;
}

const numbers = {
  keepAliveMs: 15_000,
  maxBodyBytes: 4 * 1024 * 1024,
  maxBatch: 100,
  maxSessions: 10_000,
  maxSessionsPerPrincipal: 100,
  sessionIdleMs: 1_800_000,
  inboxLimit: 1_000,
  inboxBytes: 1024 * 1024,
  maxSocketBytes: 1024 * 1024,
  historyLimit: 1_000,
  historyBytes: 1024 * 1024,
  historyMs: 60_000,
  retryMs: 1_000,
  maxStreams: 10_000,
  maxStreamsPerPrincipal: 100,
  maxCalls: 1_000,
  maxCallsPerPrincipal: 100,
  maxCallsPerSession: 100,
  maxParked: 1_000,
  maxParkedPerPrincipal: 16,
} as const;

const optionKeys: Keys<McpRouterOptions> = {
  path: true,
  origins: true,
  allowedHosts: true,
  principal: true,
  sessions: true,
  serverMessages: true,
  stream: true,
  maxStreamAgeMs: true,
  toolTimeoutMs: true,
  onError: true,
  onReject: true,
  onSessionEnd: true,
  onReady: true,
  logger: true,
  ...(Object.fromEntries(Object.keys(numbers).map((key) => [key, true])) as Record<keyof typeof numbers, true>),
};
const optionHints = {
  allowedOrigins: 'did you mean origins?',
  cors: 'did you mean origins?',
  maxBodySize: 'did you mean maxBodyBytes?',
  ...hintFor(
    ['authorizer', 'readAuthorizer', 'secrets', 'exposeErrors', 'observer', 'elicitationTimeoutMs'],
    (key) => `it belongs to the server: new McpServer(info, { ${key} })`,
  ),
};

type Limits = { readonly [Option in keyof typeof numbers]: number };

/** Every option decided. */
export interface MountOptions extends Limits {
  readonly path: string;
  readonly principal: McpRouterOptions['principal'];
  readonly sessions: SessionStore;
  readonly serverMessages: boolean;
  readonly stream: 'auto' | 'always';
  readonly maxStreamAgeMs: number;
  readonly toolTimeoutMs: number | undefined;
}

/**
 * Decide every option.
 *
 * @throws {TypeError | RangeError} saying option, value and what was meant.
 */
export function readOptions(options: McpRouterOptions): MountOptions {
  checkKeys('mcpRouter', options, optionKeys, optionHints);
  const limits = Object.fromEntries(
    Object.entries(numbers).map(([option, preset]) => {
      const { [option as keyof Limits]: value = preset } = options;
      return [option, option.endsWith('Ms') ? duration(option, value) : checkCount(`mcpRouter: ${option}`, value)];
    }),
  ) as unknown as Limits;
  const { path = '/', principal, serverMessages = true, stream = 'auto', maxStreamAgeMs, toolTimeoutMs } = options;
  if (typeof path !== 'string' || !path.startsWith('/'))
    throw new TypeError(`mcpRouter: path must start with "/", got ${JSON.stringify(path)}`);
  for (const [option, hook] of Object.entries({ principal, ...hooksOf(options) })) {
    if (hook !== undefined && typeof hook !== 'function')
      throw new TypeError(`mcpRouter: ${option} must be a function, got ${typeof hook}`);
  }
  checkMethods('sessions', options.sessions, ['create', 'get', 'update', 'delete']);
  checkMethods('logger', options.logger, ['info', 'warn', 'error']);
  if (stream !== 'auto' && stream !== 'always')
    throw new TypeError(`mcpRouter: stream must be 'auto' or 'always', got ${JSON.stringify(stream)}`);
  if (typeof serverMessages !== 'boolean')
    throw new TypeError(`mcpRouter: serverMessages must be true or false, got ${JSON.stringify(serverMessages)}`);
  return {
    ...limits,
    path: path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path,
    principal,
    sessions: options.sessions ?? new MemorySessionStore(),
    serverMessages,
    stream,
    maxStreamAgeMs: maxStreamAgeMs === undefined ? Infinity : duration('maxStreamAgeMs', maxStreamAgeMs),
    toolTimeoutMs: toolTimeoutMs === undefined ? undefined : duration('toolTimeoutMs', toolTimeoutMs),
  };
}

function hooksOf({ onError, onReject, onSessionEnd, onReady }: McpRouterOptions) {
  return { onError, onReject, onSessionEnd, onReady };
}

function checkMethods(option: string, value: object | undefined, methods: readonly string[]): void {
  const given = value as Record<string, unknown> | null | undefined;
  const missing = given === undefined ? [] : methods.filter((method) => typeof given?.[method] !== 'function');
  if (missing.length > 0) throw new TypeError(`mcpRouter: ${option} must have the methods ${missing.join(', ')}`);
}

function duration(option: string, value: number): number {
  return checkDuration(`mcpRouter: ${option}`, value);
}
