/** The fixture with what only whole clients use: questions, completion, structured results, mirrored arguments. */
import * as z from 'zod';
import type { McpRouterOptions, McpServer } from 'express-mcp';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';

/** Start one. */
export function createClientFixture(router: McpRouterOptions = {}): Promise<Fixture> {
  return createFixture({ router: { retryMs: 50, ...router }, setup });
}

function setup(server: McpServer): void {
  registerQuestions(server);
  server.registerTool(
    'sum',
    {
      title: 'Sum',
      description: 'Adds up',
      inputSchema: z.object({ numbers: z.array(z.number()) }),
      outputSchema: z.object({ sum: z.number() }),
    },
    ({ numbers }) => ({ sum: numbers.reduce((sum, number) => sum + number, 0) }),
  );
  server.registerTool('logs', { description: 'Logs on two levels' }, (_args, ctx) => {
    ctx.log('debug', 'a detail', 'spec');
    ctx.log('error', { problem: 'a fault' });
    return 'logged';
  });
  server.registerTool('leave', { description: 'Lets its connection go' }, (_args, ctx) => {
    ctx.closeStream();
    return 'left';
  });
  const region = { type: 'string', 'x-mcp-header': 'Region' };
  server.registerTool(
    'mirrored',
    { description: 'Mirrors an argument', inputSchema: { type: 'object', properties: { region } } },
    (args, ctx) => JSON.stringify([args.region, ctx.request?.headers['mcp-param-region']]),
  );
  server.registerPrompt(
    'compose',
    {
      description: 'Has its argument completed',
      argsSchema: z.object({ language: z.string() }),
      complete: { language: (value) => ['german', 'greek', 'italian'].filter((one) => one.startsWith(value)) },
    },
    ({ language }) => `Write in ${language}`,
  );
}

function registerQuestions(server: McpServer): void {
  const ok = z.object({ ok: z.boolean(), note: z.string().optional() });
  server.registerTool(
    'deploy',
    { description: 'Asks the user', inputSchema: z.object({ env: z.string() }) },
    async ({ env }, ctx) => {
      const answer = await ctx.elicit('confirm', { message: `Deploy to ${env}?`, schema: ok });
      return JSON.stringify(answer);
    },
  );
  server.registerTool('summarize', { description: 'Asks the model' }, async (_args, ctx) => {
    const { content } = await ctx.sample('summary', {
      messages: [{ role: 'user', content: { type: 'text', text: 'Summarize' } }],
      maxTokens: 10,
    });
    return JSON.stringify(content);
  });
  server.registerTool('where', { description: 'Asks for the roots' }, async (_args, ctx) => {
    const { roots } = await ctx.listRoots();
    return roots.map(({ uri }) => uri).join();
  });
  server.registerPrompt('personal', { description: 'Asks before it is written' }, async (_args, ctx) => {
    const answer = await ctx.elicit('name', { message: 'Who are you?', schema: z.object({ name: z.string() }) });
    return `I am ${answer.action === 'accept' ? answer.content.name : 'nobody'}`;
  });
  server.registerResource('private', 'note://private', { mimeType: 'text/plain' }, async (_uri, _variables, ctx) => {
    const answer = await ctx.elicit('name', { message: 'Who are you?', schema: z.object({ name: z.string() }) });
    return `For ${answer.action === 'accept' ? answer.content.name : 'nobody'}`;
  });
}
