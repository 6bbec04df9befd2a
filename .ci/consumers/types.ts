// What a strict TypeScript project sees of the installed package: arguments are inferred, nothing is `any`.
import { createServer } from 'node:http';
import express from 'express';
import * as publicValues from 'express-mcp';
import { McpServer, allow, allowAll, bearerAuth, deny, elicit, mcpRouter, validateOrigin } from 'express-mcp';
import type { CallToolResult, Context, Decision } from 'express-mcp';
import * as openTelemetryValues from 'express-mcp/opentelemetry';
import * as redisValues from 'express-mcp/redis';
import * as stdioValues from 'express-mcp/stdio';
import * as testingValues from 'express-mcp/testing';
import * as z from 'zod';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type IsAny<T> = 0 extends 1 & T ? true : false;
type NamesOfAny<T> = { [Name in keyof T]: IsAny<T[Name]> extends true ? Name : never }[keyof T];

/** Compiles when the type argument is `true`. */
export declare function assertTrue<T extends true>(): T;

assertTrue<Equal<NamesOfAny<typeof publicValues>, never>>();
assertTrue<Equal<NamesOfAny<typeof openTelemetryValues>, never>>();
assertTrue<Equal<NamesOfAny<typeof redisValues>, never>>();
assertTrue<Equal<NamesOfAny<typeof stdioValues>, never>>();
assertTrue<Equal<NamesOfAny<typeof testingValues>, never>>();
assertTrue<Equal<NamesOfAny<Context>, never>>();
assertTrue<Equal<IsAny<CallToolResult>, false>>();
assertTrue<Equal<IsAny<Decision>, false>>();

const server = new McpServer(
  { name: 'types', version: '1.0.0' },
  {
    authorizer: (call, context) => {
      assertTrue<Equal<IsAny<typeof call>, false>>();
      assertTrue<Equal<IsAny<typeof context>, false>>();
      assertTrue<Equal<typeof call.name, string>>();
      assertTrue<Equal<typeof context.principal, string | undefined>>();
      if (call.name === 'free') return allow();
      return call.operation === 'list' ? deny('not yours') : elicit('May it?');
    },
    readAuthorizer: allowAll,
  },
);

server.registerTool(
  'add',
  {
    inputSchema: z.object({ a: z.number(), b: z.number().optional() }),
    outputSchema: z.object({ sum: z.number() }),
  },
  (args, context) => {
    assertTrue<Equal<typeof args, { a: number; b?: number | undefined }>>();
    assertTrue<Equal<IsAny<typeof context>, false>>();
    assertTrue<Equal<typeof context.signal, AbortSignal>>();
    return { sum: args.a + (args.b ?? 0) };
  },
);

// A schema's output is what the handler gets, not its input.
server.registerTool('length', { inputSchema: z.object({ text: z.string().transform((s) => s.length) }) }, (args) => {
  assertTrue<Equal<typeof args, { text: number }>>();
  return `${args.text}`;
});

// A tool without arguments, and one with a plain JSON Schema: known to be records of unknown values, not `any`.
server.registerTool('free', {}, async (args) => {
  assertTrue<Equal<IsAny<typeof args>, false>>();
  return [{ type: 'text', text: 'done' }];
});
server.registerTool('plain', { inputSchema: { type: 'object', properties: { q: { type: 'string' } } } }, (args) => {
  assertTrue<Equal<IsAny<typeof args>, false>>();
  // @ts-expect-error an unvalidated property has no known type
  return args.q.length;
});

// @ts-expect-error the structured value does not match outputSchema
server.registerTool('wrong', { outputSchema: z.object({ sum: z.number() }) }, () => ({ sum: 'three' }));
// @ts-expect-error a number is no result
server.registerTool('number', {}, () => 7);
// @ts-expect-error no such option
mcpRouter(server, { nosuch: true });

const handle = server.registerTool('later', { description: 'later' }, () => 'later');
handle.update({ description: 'now' });
handle.remove();

const app = express();
app.use(
  '/mcp',
  validateOrigin({ origins: ['https://app.example'] }),
  bearerAuth({ verify: async (token) => (token === 'secret' ? { principal: 'ada', scopes: ['tools'] } : null) }),
  mcpRouter(server, { sessionIdleMs: 60_000 }),
);
createServer(mcpRouter(server));

const answer = server.handleMessage({ jsonrpc: '2.0', id: 1, method: 'ping' });
assertTrue<Equal<IsAny<Awaited<typeof answer>>, false>>();
