/** From what an author says of a server to what it is made of. */
import { ask } from './authorizer/ask';
import type { Authorizer, ReadAuthorizer } from './authorizer/decisions';
import type { Context } from './context';
import { publish } from './core';
import type { Cacheable, RequestObserver, ServerCore } from './core';
import type { CacheHints } from './declarations';
import { isObject } from './protocol/json-rpc';
import { serverInfoKey } from './protocol/params';
import type { Implementation } from './protocol/types';
import { logError, quietly } from './quietly';
import { Registry } from './registry';
import { RequestStates, SpentNonces } from './request-state';
import { checkCacheHints, checkCount, checkDuration, checkKeys, hintFor } from './settings';
import type { Keys } from './settings';

/** Who the server is, as clients are told. */
export interface ServerInfo extends Implementation {
  /** For models: how to use this server. */
  instructions?: string;
}

/** Options of {@link McpServer}. Read once, when the server is made. */
export interface McpServerOptions {
  /** Decides about every tool call and every entry of `tools/list`. @default none: nobody has decided, see docs/authorizer.md */
  authorizer?: Authorizer;
  /** Decides about resources, prompts and completion. @default none: nobody has decided */
  readAuthorizer?: ReadAuthorizer;
  /** `'default'` when a framework installs a fallback: it runs, and still counts as if nobody had decided. @default 'configured' */
  authorizerSource?: 'configured' | 'default';
  /** Keys for what travels through clients, 32 bytes or more each; the first seals, all open. @default a random one per process */
  secrets?: readonly (string | Uint8Array)[];
  /** Show the message of any thrown Error to the caller: for ported code. @default false */
  exposeErrors?: boolean;
  /** Hears of every fault that the caller is not told about. Must not throw. @default console.error */
  onError?: (error: unknown, context?: Context) => void;
  /** Entries per page of a list. @default 100 */
  pageSize?: number;
  /** How long an answer of the client may take, in milliseconds. @default 60_000 */
  elicitationTimeoutMs?: number;
  /** How long an authorizer may take, in milliseconds; then it is a denial. @default 10_000 */
  authorizerTimeoutMs?: number;
  /** Time limit of a tool call in milliseconds, where the tool and the mount have none. @default none */
  toolTimeoutMs?: number;
  /** How long clients may keep lists and reads. @default ttlMs 0 */
  cache?: Partial<Record<Cacheable, CacheHints>>;
  /** Sees every request: tracing and metrics, see `express-mcp/opentelemetry`. @default none, at no cost */
  observer?: RequestObserver;
  /** Extensions to advertise: the settings of each by its identifier, "com.example/name". @default none */
  extensions?: Record<string, object>;
  /** Experimental capabilities to advertise. @default none */
  experimental?: Record<string, object>;
}

const optionKeys: Keys<McpServerOptions> = {
  authorizer: true,
  readAuthorizer: true,
  authorizerSource: true,
  secrets: true,
  exposeErrors: true,
  onError: true,
  pageSize: true,
  elicitationTimeoutMs: true,
  authorizerTimeoutMs: true,
  toolTimeoutMs: true,
  cache: true,
  observer: true,
  extensions: true,
  experimental: true,
};
const optionHints = {
  instructions: 'it belongs to the first argument: new McpServer({ name, version, instructions })',
  capabilities: 'what is registered says what the server can do; see extensions and experimental',
  secret: 'did you mean secrets: [secret]?',
  ...hintFor(
    ['principal', 'origins', 'allowedHosts', 'sessions', 'stream', 'path', 'logger', 'onReject'],
    (key) => `it belongs to the mount: mcpRouter(server, { ${key} })`,
  ),
};

/** Of the whole process: what one server has redeemed, no other under the same name and secrets redeems again. */
const spentHere = new SpentNonces();

/** @throws {TypeError | RangeError} for an option that makes no sense. */
export function createCore({ instructions, ...info }: ServerInfo, options: McpServerOptions): ServerCore {
  checkKeys('new McpServer(info, options)', options, optionKeys, optionHints);
  if (typeof info.name !== 'string' || typeof info.version !== 'string')
    throw new TypeError('new McpServer(info): info needs a name and a version, both strings');
  const { authorizer, readAuthorizer, authorizerSource = 'configured', exposeErrors = false, pageSize = 100 } = options;
  for (const [option, hook] of Object.entries({ authorizer, readAuthorizer })) {
    if (hook !== undefined && typeof hook !== 'function')
      throw new TypeError(`new McpServer(…, { ${option} }): must be a function, for example allowAll`);
  }
  if (authorizerSource !== 'configured' && authorizerSource !== 'default') {
    throw new TypeError(
      `new McpServer(…, { authorizerSource }): must be 'configured' or 'default', got ${JSON.stringify(authorizerSource)}`,
    );
  }
  if (options.secrets !== undefined && !Array.isArray(options.secrets))
    throw new TypeError(
      'new McpServer(…, { secrets }): must be an array of secrets, for example [process.env.MCP_SECRET]',
    );
  checkCount('new McpServer(…, { pageSize }):', pageSize);
  for (const [what, hints] of Object.entries(options.cache ?? {}))
    checkCacheHints(`new McpServer(…, { cache: { ${what} } })`, hints);
  checkExtensions(options.extensions);
  const decided = authorizerSource === 'configured';
  const core: ServerCore = {
    info,
    // Callers of `handleMessage` see it in every result.
    resultMeta: Object.freeze({ [serverInfoKey]: Object.freeze(info) }),
    instructions,
    registry: new Registry((kind) => {
      core.kept.clear();
      publish(core, { message: { jsonrpc: '2.0', method: `notifications/${kind}/list_changed` }, mergeKey: kind });
    }),
    kept: new Map(),
    authorizer,
    readAuthorizer,
    authorizerConfigured: decided && authorizer !== undefined,
    readAuthorizerConfigured: decided && readAuthorizer !== undefined,
    observer: options.observer,
    exposeErrors,
    pageSize,
    authorizerTimeoutMs: duration('authorizerTimeoutMs', options, 10_000),
    elicitationTimeoutMs: duration('elicitationTimeoutMs', options, 60_000),
    toolTimeoutMs: duration('toolTimeoutMs', options, undefined),
    cache: options.cache ?? {},
    extensions: options.extensions,
    experimental: options.experimental,
    secretsGiven: options.secrets !== undefined,
    states: new RequestStates(options.secrets, info.name),
    spent: spentHere,
    ask,
    onError: quietly(options.onError ?? logError),
    listeners: new Set(),
  };
  return core;
}

/** A prefix of labels, which is not optional here, and a name. */
const extensionIdentifier =
  /^[a-z](?:[a-z\d-]*[a-z\d])?(?:\.[a-z](?:[a-z\d-]*[a-z\d])?)*\/[a-z\d](?:[a-z\d._-]*[a-z\d])?$/i;

/**
 * @throws {TypeError} naming the identifier.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning
 */
function checkExtensions(extensions: McpServerOptions['extensions'] = {}): void {
  for (const [identifier, settings] of Object.entries(extensions)) {
    const option = `new McpServer(…, { extensions }): ${JSON.stringify(identifier)}`;
    if (!extensionIdentifier.test(identifier))
      throw new TypeError(`${option} must be a prefix and a name, like "com.example/name"`);
    if (!isObject(settings)) throw new TypeError(`${option} must have an object of settings, {} if there are none`);
  }
}

type Duration = 'authorizerTimeoutMs' | 'elicitationTimeoutMs' | 'toolTimeoutMs';

function duration<Preset>(option: Duration, { [option]: value }: McpServerOptions, preset: Preset): number | Preset {
  return value === undefined ? preset : checkDuration(`new McpServer(…, { ${option} }):`, value);
}
