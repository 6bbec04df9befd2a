/** The URL that clients know an endpoint by, and the URL of its metadata: the same answer for everyone who asks. */
import type { IncomingMessage } from 'node:http';
import { inspect } from 'node:util';

/** Where RFC 9728 puts the metadata of a resource: between its host and its path. */
export const wellKnownPath = '/.well-known/oauth-protected-resource';

/** What an Express app adds to a request, as far as it is read here. */
interface ExpressRequest extends IncomingMessage {
  app?: { settings?: { 'trust proxy fn'?: (address: string | undefined, hop: number) => boolean } };
  protocol?: string;
  originalUrl?: string;
}

const hostPattern = /^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i;

/**
 * The option's value as a URL.
 *
 * @throws {TypeError} if it is not an absolute http or https URL, or has a query, a fragment, spaces or credentials.
 */
export function checkHttpUrl(option: string, value: unknown, meant: string): URL {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined;
  const isPlain = url && /^https?:$/.test(url.protocol) && !/[?#\s\\]/.test(value as string) && url.username === '';
  if (!isPlain) {
    throw new TypeError(
      `${option} must be ${meant}, absolute, without query, fragment or spaces, got ${inspect(value)}`,
    );
  }
  return url;
}

/** Where the metadata of `resource` is. */
export function metadataUrlOf({ origin, pathname }: URL): string {
  return origin + wellKnownPath + (pathname === '/' ? '' : pathname);
}

/** Whether the request came through an Express app, whose `trust proxy` says which headers of a proxy hold. */
export function isExpressRequest(req: IncomingMessage): boolean {
  return typeof (req as ExpressRequest).app?.settings?.['trust proxy fn'] === 'function';
}

/**
 * Scheme and host that the client used, as far as Express's `trust proxy` lets us know: never from a forwarded header that
 * it does not trust. Undefined outside an Express app, and where the Host is missing or malformed.
 */
export function requestOrigin(req: IncomingMessage): string | undefined {
  const { app, protocol, headers, socket } = req as ExpressRequest;
  const trust = app?.settings?.['trust proxy fn'];
  if (typeof trust !== 'function') return undefined;
  // Express 4 has no public name for the host with its port.
  const forwarded = trust(socket.remoteAddress, 0) ? headers['x-forwarded-host'] : undefined;
  const host = (forwarded ? String(forwarded).split(',', 1)[0] : headers.host)?.trim() ?? '';
  const origin = `${protocol}://${host}`;
  const isSound = hostPattern.test(host) && /^https?$/.test(protocol ?? '') && URL.canParse(origin);
  return isSound ? new URL(origin).origin : undefined;
}

/** What the client asked for, wherever we are mounted, as it came. */
export function requestTarget(req: IncomingMessage): string {
  return (req as ExpressRequest).originalUrl ?? req.url ?? '/';
}

/** The path that the client asked for: normalized, without query and without its last slash. */
export function requestPath(req: IncomingMessage): string {
  const target = requestTarget(req);
  // Joined, not resolved: "//evil.example" is a path here. A target in absolute form carries its own host.
  const url = target.startsWith('/') ? `http://localhost${target}` : target;
  const path = URL.canParse(url) ? new URL(url).pathname : '/';
  return path.endsWith('/') ? path.slice(0, -1) : path;
}
