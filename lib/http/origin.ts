/** Which pages may call: the Origin and Host checks, and the CORS headers that follow from them. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ErrorCode } from '../protocol/errors';
import { HttpError, sendError } from './http-error';
import { isLoopbackAddress, isLoopbackHost, parseHost } from './host';

/** Options of {@link validateOrigin}. Read once, at the call. */
export interface OriginOptions {
  /**
   * Origins that browsers may call from, as scheme and host ("https://app.example"). A request with another `Origin` gets
   * 403; one without the header passes. Loopback origins pass without being named when the request arrived on loopback
   * with a loopback Host; naming one of them here means that of loopback origins, only the named ones pass.
   *
   * @default [] (loopback origins on a loopback request)
   * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
   */
  origins?: readonly string[];
  /**
   * Names under which this server is reached, as the Host header has them: "mcp.example" with any port, "mcp.example:8443"
   * with that one. A request with another Host gets 403, and pages of these hosts themselves may call. A request that
   * arrived on loopback may always name a loopback host. Headers of proxies (`X-Forwarded-Host`) count for nothing.
   *
   * @default [] (loopback names on a request that arrived on loopback; any name elsewhere)
   */
  allowedHosts?: readonly string[];
}

/** Judges a request. True: go on. False: it has been answered, with 403 or as a preflight. */
export type OriginCheck = (req: IncomingMessage, res: ServerResponse) => boolean;

/** Hears of what the check has answered. */
export interface OriginObserver {
  onRefused?(refusal: HttpError, req: IncomingMessage): void;
  onPreflight?(): void;
}

const EXPOSED_HEADERS = ['Mcp-Session-Id', 'MCP-Protocol-Version', 'WWW-Authenticate'];
const ALLOWED_HEADERS =
  'authorization, content-type, accept, mcp-session-id, mcp-protocol-version, last-event-id, mcp-method, mcp-name, traceparent, tracestate';
const PARAM_HEADER = /^mcp-param-[\w!#$%&'*+.^`|~-]+$/i;
// The longest that Chromium keeps a preflight's answer.
const PREFLIGHT_MAX_AGE_SECONDS = 7200;

/** Left on a request by {@link validateOrigin}, so that a router behind it that has no options of its own does not undo its answer. */
const VALIDATED = Symbol('express-mcp: origin validated');
type ValidatedRequest = IncomingMessage & { [VALIDATED]?: true };

/**
 * Make the check of `Origin` and `Host` that the router and {@link validateOrigin} share. An allowed origin gets its CORS
 * headers, a refused one none.
 *
 * @throws {TypeError} if an entry is not an origin, or not a host.
 */
export function createOriginCheck(
  { origins = [], allowedHosts = [] }: OriginOptions,
  { onRefused, onPreflight }: OriginObserver = {},
): OriginCheck {
  const allowedOrigins = new Set(stringsOf('origins', origins).map(toAllowedOrigin));
  const namesLoopback = [...allowedOrigins].some(isLoopbackOrigin);
  const judgeHost = createHostJudge(stringsOf('allowedHosts', allowedHosts));
  const isOpen = allowedHosts.length === 0;
  const isDefault = isOpen && allowedOrigins.size === 0;

  function isAllowed(origin: string, host: JudgedHost, req: IncomingMessage, onLoopback: boolean): boolean {
    if (allowedOrigins.has(origin)) return true;
    const parsed = parseOrigin(origin);
    if (parsed === undefined) return false;
    if (allowedOrigins.has(parsed)) return true;
    if (onLoopback && host.loopback && !namesLoopback && isLoopbackOrigin(parsed)) return true;
    return host.allowed && isOwnOrigin(parsed, req);
  }

  function refuse(req: IncomingMessage, res: ServerResponse, message: string): false {
    const refusal = new HttpError(403, ErrorCode.InvalidRequest, message);
    // A CORS middleware of the host's may have allowed everybody.
    res.removeHeader('Access-Control-Allow-Origin');
    sendError(res, refusal);
    onRefused?.(refusal, req);
    return false;
  }

  return function checkOrigin(req, res) {
    const { origin, host: name } = req.headers;
    const onLoopback = arrivedOnLoopback(req.socket);
    const host = judgeHost(name);
    const isHostAllowed = host.allowed || (onLoopback ? host.loopback : isOpen);
    if (isHostAllowed && origin === undefined) return true;
    if (isDefault && (req as ValidatedRequest)[VALIDATED] === true) return true;
    if (!isHostAllowed) {
      return refuse(
        req,
        res,
        'The Host header names another server. To serve under this name, add it to `allowedHosts`.',
      );
    }
    if (!isAllowed(origin!, host, req, onLoopback)) {
      return refuse(req, res, 'Pages of this origin may not call here. To let them, add it to `origins`.');
    }
    res.setHeader('Access-Control-Allow-Origin', origin!);
    appendHeader(res, 'Vary', ['Origin']);
    appendHeader(res, 'Access-Control-Expose-Headers', EXPOSED_HEADERS);
    if (req.method !== 'OPTIONS' || req.headers['access-control-request-method'] === undefined) return true;
    answerPreflight(req, res);
    onPreflight?.();
    return false;
  };
}

/**
 * Refuse browser requests from other origins, and requests for another Host, with 403; answer the preflights of allowed
 * ones. Belongs before the login, since a preflight carries no credentials. A `mcpRouter` behind it that has neither
 * `origins` nor `allowedHosts` of its own takes its word.
 *
 * @example
 * app.use('/mcp', validateOrigin({ origins: ['https://app.example'] }), requireLogin, mcpRouter(server));
 * @throws {TypeError} if an entry is not an origin, or not a host.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
 */
export function validateOrigin(options: OriginOptions = {}) {
  const check = createOriginCheck(options);
  return function validateOriginMiddleware(req: IncomingMessage, res: ServerResponse, next?: () => void): void {
    if (!check(req, res)) return;
    (req as ValidatedRequest)[VALIDATED] = true;
    next?.();
  };
}

function answerPreflight(req: IncomingMessage, res: ServerResponse): void {
  const requested = req.headers['access-control-request-headers'] ?? '';
  const params = requested.split(',').flatMap((name) => (PARAM_HEADER.test(name.trim()) ? [name.trim()] : []));
  res.writeHead(204, {
    'Access-Control-Allow-Methods': 'POST, GET, DELETE, OPTIONS',
    'Access-Control-Allow-Headers': [ALLOWED_HEADERS, ...params].join(', '),
    'Access-Control-Max-Age': PREFLIGHT_MAX_AGE_SECONDS,
  });
  res.end();
}

/** Add to a list header the names that it lacks. */
function appendHeader(res: ServerResponse, header: string, names: readonly string[]): void {
  const present = res.getHeader(header);
  const list = present === undefined ? [] : `${present}`.split(',').map((name) => name.trim());
  const lower = new Set(list.map((name) => name.toLowerCase()));
  if (!lower.has('*'))
    res.setHeader(header, [...list, ...names.filter((name) => !lower.has(name.toLowerCase()))].join(', '));
}

function arrivedOnLoopback(socket: Socket): boolean {
  const { localAddress } = socket;
  // A closed socket has lost its address: judged by the stricter rule, so that hanging up early gets round nothing.
  return localAddress === undefined ? socket.destroyed : isLoopbackAddress(localAddress);
}

interface JudgedHost {
  /** Is in `allowedHosts`. */
  allowed: boolean;
  loopback: boolean;
}

/** Make the judge of Host headers. It remembers the last one: nearly always the next request's, too. */
function createHostJudge(allowedHosts: readonly string[]): (host: string | undefined) => JudgedHost {
  const allowed = new Set(allowedHosts.flatMap(toAllowedHosts));
  let last: string | undefined;
  let judged: JudgedHost = { allowed: false, loopback: false };

  return function judgeHost(host) {
    if (host === last) return judged;
    const { name = '', port = '' } = parseHost(host ?? '') ?? {};
    last = host;
    judged = { allowed: allowed.has(name) || allowed.has(`${name}:${port}`), loopback: isLoopbackHost(host) };
    return judged;
  };
}

/** The keys under which {@link createHostJudge} finds an entry. A port that is a scheme's default may be left out of a Host. */
function toAllowedHosts(entry: string): string[] {
  const host = parseHost(entry);
  if (host === undefined) {
    throw new TypeError(
      `allowedHosts: ${JSON.stringify(entry)} is not a host. Write it as the Host header has it, in ASCII, with or without a port: "mcp.example", "mcp.example:8443".`,
    );
  }
  const { name, port } = host;
  if (port === undefined) return [name];
  return port === '80' || port === '443' ? [`${name}:${port}`, `${name}:`] : [`${name}:${port}`];
}

function toAllowedOrigin(entry: string): string {
  const origin = parseOrigin(entry);
  if (origin === undefined) {
    throw new TypeError(
      `origins: ${JSON.stringify(entry)} is not an origin. Write scheme, host and, unless it is the default, the port of each page that may call: "https://app.example". There is no wildcard, and "null" is every sandboxed page.`,
    );
  }
  return origin;
}

/** An origin in its normal form (lower case, no default port); nothing when it is more or less than scheme, host and port. */
function parseOrigin(value: string): string | undefined {
  if (!/^[a-z][a-z\d+.-]*:\/\/(?:\[[\da-f:.]+\]|[^\s/?#@\\,%:[\]*]+)(?::\d+)?$/i.test(value) || !URL.canParse(value)) {
    return undefined;
  }
  // Not `URL.origin`, which is "null" for browser extensions.
  const { protocol, host } = new URL(value);
  return host === '' ? undefined : `${protocol}//${host}`;
}

function isLoopbackOrigin(origin: string): boolean {
  return /^https?:/.test(origin) && isLoopbackHost(origin.slice(origin.indexOf('//') + 2));
}

/** Whether `origin` is where this request was sent to. Behind a proxy the scheme is unknown; on our own TLS it is https. */
function isOwnOrigin(origin: string, { headers, socket }: IncomingMessage): boolean {
  const [scheme] = origin.split('//');
  if (scheme !== 'https:' && (scheme !== 'http:' || 'encrypted' in socket)) return false;
  return parseOrigin(`${scheme}//${headers.host}`) === origin;
}

function stringsOf(option: keyof OriginOptions, value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) return value;
  throw new TypeError(`${option} must be an array of strings.`);
}
