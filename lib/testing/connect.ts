/** connect: a client for a server in this process, an app, or a URL. */
import type { AuthInfo } from '../protocol/auth-info';
import { findRevision, latestRevision } from '../protocol/revisions';
import type { ClientCapabilities, Implementation, LoggingLevel } from '../protocol/types';
import { McpServer } from '../server';
import { capabilitiesOf } from './answers';
import type { Callbacks } from './answers';
import type { Channel, Receive } from './channel';
import { Conversation } from './conversation';
import { discover, initialize, modernMeta } from './handshake';
import { openHttpChannel, statusOf } from './http-channel';
import { serveOnLoopback } from './loopback';
import type { RequestHandler } from './loopback';
import { openMemoryChannel } from './memory-channel';
import { TestClient } from './test-client';

/** An `McpServer` (no port), an app or other HTTP handler (served on a free loopback port meanwhile), or an endpoint's URL. */
export type ConnectTarget = McpServer | RequestHandler | string | URL;

/** Options of {@link connect}. */
export interface ConnectOptions extends Callbacks {
  /** The revision to speak. @default the latest, 2026-07-28 */
  revision?: string;
  /** Who the client is. For an `McpServer`; an app finds out by itself, from `headers`. @default nobody */
  principal?: string;
  /** As `principal`, with scopes and claims. @default none */
  auth?: AuthInfo;
  /** What the client says it can do. @default what the callbacks given can answer */
  capabilities?: ClientCapabilities;
  /** Sent with every HTTP request, `Authorization` for example. @default none */
  headers?: Record<string, string>;
  /** Where an app has its endpoint. @default '/mcp' */
  path?: string;
  /** The least severe log messages to be sent. @default as the revision has it: info (legacy), none (modern) */
  logLevel?: LoggingLevel;
  /** What the client says it is. @default express-mcp/testing */
  clientInfo?: Implementation;
  /** How long an answer may take, in milliseconds; 0 and Infinity mean for ever. @default 10_000 */
  timeoutMs?: number;
  /** How often one request is answered and sent again (modern). @default 10 */
  maxRounds?: number;
}

/**
 * Be a client of `target`: says `initialize` (legacy) or `server/discover` (modern). Close it when the test is done.
 *
 * @example
 * const client = await connect(server, { principal: 'ada' });
 * const { content } = await client.callTool('get_weather', { city: 'Oslo' });
 * await client.close();
 * @throws {TypeError} for an option that makes no sense with this target. Rejects when there is no such server.
 */
export async function connect(target: ConnectTarget, options: ConnectOptions = {}): Promise<TestClient> {
  const { revision = latestRevision.version, clientInfo = { name: 'express-mcp/testing', version: '1.0.0' } } = options;
  const era = findRevision(revision)?.era;
  if (era === undefined)
    throw new TypeError(`connect(…, { revision }): ${JSON.stringify(revision)} is not one that is known`);
  const capabilities = options.capabilities ?? capabilitiesOf(options);
  const { open, release, where } = await reach(target, options, era === 'legacy');
  const greeting = { revision, capabilities, clientInfo, logLevel: options.logLevel };
  const conversation = new Conversation(
    {
      ...options,
      revision,
      meta: era === 'modern' ? modernMeta(greeting) : {},
      timeoutMs: options.timeoutMs ?? 10_000,
      maxRounds: options.maxRounds ?? 10,
    },
    open,
  );
  try {
    const server = await (era === 'modern' ? discover : initialize)(conversation, greeting);
    return new TestClient({ conversation, revision, era, server, release });
  } catch (error) {
    await conversation.close();
    await release();
    if (statusOf(error) !== 404) throw error;
    throw new Error(`There is no MCP endpoint at ${where} (for an app, the option path says where it is)`, {
      cause: error,
    });
  }
}

/** How to get to a server. */
interface Way {
  readonly open: (receive: Receive) => Channel;
  /** Give back what was made for this client. */
  readonly release: () => Promise<void>;
  readonly where: string;
}

async function reach(target: ConnectTarget, options: ConnectOptions, isLegacy: boolean): Promise<Way> {
  const { principal, auth, headers, path } = options;
  if (target instanceof McpServer) {
    if (headers !== undefined || path !== undefined)
      throw new TypeError(
        'connect(server, { headers, path }): are for an app or a URL; a server is told the principal',
      );
    const connection = { transport: 'memory', ...(principal && { principal }), ...(auth && { auth }) } as const;
    return {
      open: (receive) => openMemoryChannel(target, connection, receive),
      release: async () => {},
      where: 'memory',
    };
  }
  if (principal !== undefined || auth !== undefined)
    throw new TypeError('connect(app, { principal, auth }): are for an McpServer; an app finds out from headers');
  const http = (url: string) => (receive: Receive) =>
    openHttpChannel({ url, headers: headers ?? {}, isLegacy }, receive);
  if (typeof target === 'function') {
    const { origin, close } = await serveOnLoopback(target);
    const url = new URL(path ?? '/mcp', origin).href;
    return { open: http(url), release: close, where: url };
  }
  if (!URL.canParse(String(target)))
    throw new TypeError(`connect(target): must be an McpServer, an app or a URL, got ${JSON.stringify(target)}`);
  const url = path === undefined ? new URL(target).href : new URL(path, target).href;
  return { open: http(url), release: async () => {}, where: url };
}
