/**
 * What the compiler knows of declarations: arguments, results, completers, handles. Nothing here runs; the type check is
 * the test, and every wrong use below is marked as an error that the compiler must find.
 */
/* eslint-disable @typescript-eslint/no-unused-vars -- names that are there to be asked for their type */
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { allowAll, elicit, McpServer } from 'express-mcp';
import type {
  Authorizer,
  CallToolResult,
  Context,
  ElicitAnswer,
  McpServerOptions,
  ReadAuthorizer,
  ToolProvider,
} from 'express-mcp';
import * as v from 'valibot';
import * as z from 'zod';
import { createProgram, describeDiagnostic } from './support/program';

/** Are they the same type, neither wider nor narrower? */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_proof: Same<A, B>): void => undefined;

const declare = {
  argumentsOfZod(server: McpServer): void {
    const inputSchema = z.object({
      city: z.string(),
      days: z.number().default(1),
      unit: z.enum(['c', 'f']).optional(),
      when: z.string().transform((text) => new Date(text)),
    });
    server.registerTool('weather', { inputSchema }, (args, context) => {
      same<typeof args, { city: string; days: number; unit?: 'c' | 'f' | undefined; when: Date }>(true);
      same<typeof context, Context>(true);
      // @ts-expect-error no such argument
      void args.town;
      return args.city;
    });
    server.registerTool(
      'union',
      {
        inputSchema: z.discriminatedUnion('a', [
          z.object({ a: z.literal(1), b: z.string() }),
          z.object({ a: z.literal(2) }),
        ]),
      },
      (args) => (args.a === 1 ? args.b : 'two'),
    );
  },

  argumentsOfValibot(server: McpServer): void {
    const inputSchema = toStandardJsonSchema(v.object({ n: v.number(), s: v.optional(v.string(), 'x') }));
    server.registerTool('valibot', { inputSchema }, (args) => {
      same<typeof args, { n: number; s: string }>(true);
      return args.s;
    });
  },

  argumentsOfJsonSchema(server: McpServer): void {
    const inputSchema = { type: 'object', properties: { a: { type: 'string' } } };
    server.registerTool('plain', { inputSchema }, (args) => {
      same<typeof args, Record<string, unknown>>(true);
      // @ts-expect-error its type is not known
      const text: string = args.a;
      return text;
    });
    server.registerTool('none', {}, (args) => {
      same<typeof args, Record<string, unknown>>(true);
    });
  },

  results(server: McpServer): void {
    const outputSchema = z.object({ n: z.number(), kind: z.enum(['a', 'b']), more: z.string().default('') });
    server.registerTool('value', { outputSchema }, () => ({ n: 1, kind: 'a' }));
    server.registerTool('later', { outputSchema }, async () => ({ n: 1, kind: 'a' }));
    server.registerTool('failed', { outputSchema }, () => ({ content: [], isError: true }));
    // @ts-expect-error the value of another schema
    server.registerTool('wrong', { outputSchema }, () => ({ n: '1', kind: 'a' }));
    // @ts-expect-error text is not the value
    server.registerTool('text', { outputSchema }, () => 'text');
    // @ts-expect-error nothing is not the value
    server.registerTool('nothing', { outputSchema }, () => undefined);
    server.registerTool('array', { outputSchema: z.array(z.number()) }, () => [1]);
    server.registerTool('plain', { outputSchema: { type: 'array' } }, () => [1]);
    server.registerTool('plain', { outputSchema: { type: 'object' } }, () => ({ n: 1 }));
    server.registerTool('blocks', {}, () => [{ type: 'text', text: 'x' }]);
    server.registerTool('void', {}, () => undefined);
    // @ts-expect-error no block of this kind
    server.registerTool('blocks', {}, () => [{ type: 'video', text: 'x' }]);
    // @ts-expect-error a number is no result
    server.registerTool('number', {}, () => 5);
    const full: CallToolResult = { content: [{ type: 'image', data: '', mimeType: 'image/png' }] };
    server.registerTool('full', {}, async () => full);
  },

  settings(server: McpServer): void {
    server.registerTool(
      'all',
      { title: 't', annotations: { readOnlyHint: true }, sensitive: false, stream: 'always', timeoutMs: 5, _meta: {} },
      () => '',
    );
    // @ts-expect-error no such option
    server.registerTool('typo', { descripton: 'x' }, () => '');
    // @ts-expect-error neither of the two
    server.registerTool('stream', { stream: 'never' }, () => '');
    // @ts-expect-error a name is text
    server.registerTool(5, {}, () => '');
  },

  handles(server: McpServer): void {
    const tool = server.registerTool(
      'x',
      { inputSchema: z.object({ a: z.string() }), outputSchema: z.object({ n: z.number() }) },
      () => ({ n: 1 }),
    );
    tool.update({ title: 'New', handler: ({ a }) => ({ n: a.length }) });
    // @ts-expect-error the handler returns another value
    tool.update({ handler: () => ({ n: 'x' }) });
    // @ts-expect-error a handle keeps its name
    tool.name = 'y';
    const prompt = server.registerPrompt('x', { argsSchema: z.object({ a: z.string() }) }, ({ a }) => a);
    prompt.update({ complete: { a: () => [] } });
    // @ts-expect-error no such argument
    prompt.update({ complete: { b: () => [] } });
  },

  prompts(server: McpServer): void {
    const argsSchema = z.object({ language: z.string(), style: z.string().optional() });
    const complete = {
      language: (value: string) => [value],
      style: async (_value: string, others: Record<string, string>, context: Context) => [
        others.language ?? '',
        context.era,
      ],
    };
    server.registerPrompt('code', { argsSchema, complete }, ({ language, style }) => {
      same<typeof language, string>(true);
      same<typeof style, string | undefined>(true);
      return language;
    });
    server.registerPrompt('messages', {}, () => [{ role: 'user', content: { type: 'text', text: 'x' } }]);
    // @ts-expect-error no such argument
    server.registerPrompt('code', { argsSchema, complete: { town: () => [] } }, () => '');
    // @ts-expect-error values are text
    server.registerPrompt('code', { argsSchema, complete: { language: () => [1] } }, () => '');
    // @ts-expect-error nobody has this role
    server.registerPrompt('role', {}, () => [{ role: 'system', content: { type: 'text', text: 'x' } }]);
  },

  resources(server: McpServer): void {
    server.registerResource('text', 'x:1', {}, () => 'x');
    server.registerResource('bytes', 'x:2', {}, async () => Buffer.from('x'));
    server.registerResource(
      'family',
      'x:{id}',
      { complete: { id: () => ['1'] }, list: () => [{ uri: 'x:1', name: 'One' }] },
      (uri, variables, context) => {
        same<typeof variables, Record<string, string>>(true);
        same<typeof context, Context>(true);
        return [{ uri, text: variables.id ?? '' }];
      },
    );
    // @ts-expect-error contents need text or bytes
    server.registerResource('wrong', 'x:3', {}, (uri) => [{ uri }]);
    // @ts-expect-error a listed resource has a name
    server.registerResource('wrong', 'x:{id}', { list: () => [{ uri: 'x:1' }] }, () => '');
  },

  async questions(context: Context): Promise<void> {
    const schema = z.object({ sure: z.boolean(), count: z.number().optional() });
    const answer = await context.elicit('q', { message: 'Sure?', schema });
    same<typeof answer, ElicitAnswer<typeof schema>>(true);
    // @ts-expect-error not before it is known to be accepted
    void answer.content.sure;
    if (answer.action === 'accept') same<typeof answer.content, { sure: boolean; count?: number | undefined }>(true);
    const page = await context.elicit('page', { message: 'Open', url: 'https://example.com/' });
    same<typeof page.action, 'accept' | 'decline' | 'cancel'>(true);
    // @ts-expect-error a form or a page
    await context.elicit('neither', { message: 'x' });
    const once = await context.once('n', () => 5);
    same<typeof once, number>(true);
    // @ts-expect-error no such level
    context.log('loud', 'x');
    // @ts-expect-error who calls is not the handler's to say
    context.principal = 'root';
  },

  authorizers(): void {
    const authorizer: Authorizer = (call, context) => {
      // @ts-expect-error a list has no arguments
      if (call.operation === 'list') void call.arguments;
      else void call.arguments.a;
      same<typeof context, Context>(true);
      return call.definition.sensitive ? elicit('Sure?') : allowAll(call, context);
    };
    const readAuthorizer: ReadAuthorizer = (call, context) => {
      if (call.operation === 'call' && call.kind === 'resource') same<typeof call.uri, string>(true);
      // @ts-expect-error a prompt has no uri
      if (call.kind === 'prompt') void call.uri;
      return allowAll(call, context);
    };
    const options: McpServerOptions = { authorizer, readAuthorizer };
    // @ts-expect-error a yes is a decision, not a boolean
    const wrong: Authorizer = () => true;
    void new McpServer({ name: 'x', version: '1' }, { ...options, authorizer: wrong });
    // @ts-expect-error a server has a version
    void new McpServer({ name: 'x' });
    // @ts-expect-error no such option
    void new McpServer({ name: 'x', version: '1' }, { authoriser: allowAll });
  },

  providers(server: McpServer): void {
    const provider: ToolProvider = {
      listTools: ({ principal }) => [{ name: `of-${principal}`, inputSchema: z.object({ a: z.string() }) }],
      callTool: async (name, args) => `${name} ${String(args.a)}`,
    };
    const handle = server.provideTools(provider);
    same<ReturnType<typeof handle.remove>, void>(true);
    // @ts-expect-error a provider calls, too
    server.provideTools({ listTools: () => [] });
  },

  async transports(server: McpServer): Promise<void> {
    const connection = { principal: 'alice' };
    const answer = await server.handleMessage({ jsonrpc: '2.0', id: 1, method: 'ping' }, connection);
    if (answer !== undefined && !Array.isArray(answer) && 'result' in answer) void answer.result;
    const stop = server.subscribe((message) => void message.jsonrpc, connection);
    stop();
    // @ts-expect-error HTTP has a router
    server.subscribe(() => undefined, { transport: 'http' });
  },
};

describe('the types', () => {
  it('say what they should, and refuse what they should', () => {
    expect(Object.keys(declare)).not.toHaveLength(0);
    const program = createProgram([__filename]);
    const problems = program.getSemanticDiagnostics(program.getSourceFile(__filename));
    expect(problems.map(describeDiagnostic)).toEqual([]);
  }, 120_000);
});
