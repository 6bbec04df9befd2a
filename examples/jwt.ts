// node -r esbuild-register examples/jwt.ts
/** JWT access tokens of an OAuth authorization server; clients find it through the metadata and log in there. */
import express from 'express';
import { InvalidTokenError, McpServer, allowAll, bearerAuth, mcpRouter, protectedResourceMetadata } from 'express-mcp';
import type { TokenVerifier } from 'express-mcp';

/** What of jose's error codes is the token's fault; the rest is an outage of the key server. */
const tokenFault = /^ERR_(JWT_|JWS_|JOSE_ALG_|JOSE_NOT_SUPPORTED|JWKS_NO_MATCHING_KEY|JWKS_MULTIPLE)/;

interface JwtOptions {
  /** Who signs the tokens, as in `iss`. */
  issuer: string;
  /** Who the tokens are for, as in `aud`: this server, and checked always. */
  audience: string;
  /** Where the issuer's keys are. They are fetched when first needed, cached, and fetched anew for an unknown key. */
  jwks: string;
}

/** Make a `verify` for `bearerAuth`. Take it along. */
export function jwtVerifier({ issuer, audience, jwks }: JwtOptions): TokenVerifier {
  // jose does not compare what it is not given.
  if (!issuer || !audience) throw new TypeError('jwtVerifier: issuer and audience must be named');
  const url = new URL(jwks);
  // jose is ESM only, and not every supported Node can require() that.
  const jose = import('jose');
  const keys = jose.then(({ createRemoteJWKSet }) => createRemoteJWKSet(url));

  return async function verifyJwt(token) {
    const { jwtVerify } = await jose;
    try {
      const { payload } = await jwtVerify(token, await keys, { issuer, audience, requiredClaims: ['sub', 'exp'] });
      const scopes = String(payload.scope ?? '')
        .split(' ')
        .filter(Boolean);
      return { principal: payload.sub ?? '', scopes, expiresAt: payload.exp, claims: payload };
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      throw tokenFault.test(code ?? '') ? new InvalidTokenError(message, { cause: error }) : error;
    }
  };
}

const { PORT = '3010', ISSUER = 'https://auth.example.com/' } = process.env;
const { RESOURCE = `http://127.0.0.1:${PORT}/mcp`, JWKS = new URL('.well-known/jwks.json', ISSUER).href } = process.env;

const server = new McpServer({ name: 'jwt', version: '1.0.0' }, { authorizer: allowAll });
server.registerTool('whoami', { description: 'Name the caller' }, (_args, { auth }) => `You are ${auth?.principal}`);

const app = express();
const verify = jwtVerifier({ issuer: ISSUER, audience: RESOURCE, jwks: JWKS });
app.use(protectedResourceMetadata({ authorizationServers: [ISSUER], resource: RESOURCE, scopes: ['mcp'] }));
app.use('/mcp', bearerAuth({ verify, resource: RESOURCE, scopes: ['mcp'] }), mcpRouter(server));
app.listen(Number(PORT), '127.0.0.1', (error) => {
  if (error) throw error;
  console.log(`MCP endpoint: ${RESOURCE}, for tokens from ${ISSUER}`);
});
