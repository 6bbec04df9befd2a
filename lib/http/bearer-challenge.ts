/** Writes and reads the two headers of RFC 6750: the challenge of a refusal, and the token of a request. */
import type { IncomingMessage } from 'node:http';
import { inspect } from 'node:util';
import type { BearerChallenge } from './auth-info';

const maxDescriptionLength = 200;
// RFC 6750, 3: scope = scope-token *( SP scope-token ), scope-token = 1*( %x21 / %x23-5B / %x5D-7E )
const scopeToken = /^[\x21\x23-\x5b\x5d-\x7e]+$/;
// RFC 6750, 2.1: credentials = "Bearer" 1*SP b64token; the scheme in any case (RFC 9110, 11.1).
const bearerCredentials = /^bearer +([\w.~+/-]+=*)$/i;
const bearerScheme = /^bearer +\S/i;

/**
 * The value of `WWW-Authenticate`: one challenge of the scheme Bearer.
 *
 * The description comes last: clients in use search the header for the first `scope=`, and its text is the verifier's.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6750#section-3
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#scope-challenge-handling
 */
export function writeChallenge(
  resourceMetadata: string | undefined,
  mountScopes: readonly string[],
  { error, description, scope }: BearerChallenge,
): string {
  const parameters: string[] = [];
  const add = (name: string, value: string | undefined) => {
    if (value) parameters.push(`${name}="${quotable(value)}"`);
  };
  add('resource_metadata', resourceMetadata);
  add('error', error);
  add('scope', (scope ? [...new Set([...mountScopes, ...scope])] : mountScopes).join(' '));
  add('error_description', description?.slice(0, maxDescriptionLength));
  // RFC 6750, 3: the scheme is followed by one parameter at least.
  if (parameters.length === 0) add('realm', 'mcp');
  return `Bearer ${parameters.join(', ')}`;
}

/** Replace what RFC 6750 does not allow between the quotes: all but printable ASCII, the quote and the backslash. */
function quotable(text: string): string {
  return text
    .replaceAll('"', "'")
    .replace(/[\r\n\t]+/g, ' ')
    .replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/gu, '?');
}

/**
 * The token of a request: `undefined` where none came (no header, another scheme, no word after the scheme), `null` where
 * credentials came that are no single token.
 *
 * Only the header counts: a token in the query or the body is none (OAuth 2.1, 5.1).
 */
export function readBearerToken(req: IncomingMessage): string | null | undefined {
  const credentials = req.headers.authorization;
  if (credentials === undefined) return undefined;
  // Node keeps the first of several Authorization lines; another party on the way may have acted on the last.
  if (hasSecondAuthorization(req.rawHeaders)) return null;
  return bearerCredentials.exec(credentials)?.[1] ?? (bearerScheme.test(credentials) ? null : undefined);
}

function hasSecondAuthorization(rawHeaders: readonly string[]): boolean {
  let seen = false;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length !== 13 || name.toLowerCase() !== 'authorization') continue;
    if (seen) return true;
    seen = true;
  }
  return false;
}

/**
 * The scopes of an option, checked.
 *
 * @throws {TypeError} if it is no array of scope tokens, or asks for `offline_access`, which is no scope of a resource.
 */
export function checkScopes(option: string, scopes: readonly string[] = []): readonly string[] {
  if (!Array.isArray(scopes)) {
    throw new TypeError(`${option} must be an array of scopes, one string each, got ${inspect(scopes)}`);
  }
  for (const scope of scopes as readonly unknown[]) {
    if (typeof scope !== 'string' || !scopeToken.test(scope)) {
      const meant = 'a scope is visible ASCII without spaces, quotes and backslashes; one string for each';
      throw new TypeError(`${option} has ${inspect(scope)}: ${meant}`);
    }
    // 2026-07-28, basic/authorization, "Refresh Tokens": protected resources SHOULD NOT ask for it.
    if (scope === 'offline_access') {
      throw new TypeError(`${option} has 'offline_access': refresh tokens are between client and authorization server`);
    }
  }
  return [...scopes];
}
