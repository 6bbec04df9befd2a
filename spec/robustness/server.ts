/** The server that is hurt: tools that answer at once, so that whoever waits waits for a fault. */
import { ToolError } from 'express-mcp';
import type { McpServer } from 'express-mcp';
import * as z from 'zod';

/** Every tool, resource and prompt ends by itself, whatever it is given. */
export function registerHarmless(server: McpServer): void {
  server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, ({ text }) => text);
  server.registerTool('anything', { inputSchema: z.looseObject({ value: z.any() }) }, (args) => JSON.stringify(args));
  server.registerTool(
    'add',
    {
      inputSchema: z.object({ a: z.number(), b: z.number().optional() }),
      outputSchema: z.object({ sum: z.number() }),
    },
    ({ a, b = 0 }) => ({ sum: a + b }),
  );
  server.registerTool('report', {}, (_args, ctx) => {
    ctx.progress(1, 2, 'half');
    ctx.log('info', { half: true });
    return 'reported';
  });
  server.registerTool('fail', {}, () => {
    throw new ToolError('No such city');
  });
  server.registerTool('break', {}, () => {
    throw new Error('connect postgres://user:secret@host/db');
  });
  server.registerTool('ask', {}, async (_args, ctx) =>
    JSON.stringify(await ctx.elicit('name', { message: 'Who?', schema: z.object({ name: z.string() }) })),
  );
  server.registerResource('readme', 'file:///readme.txt', { mimeType: 'text/plain' }, () => 'Read me.');
  server.registerResource('item', 'item://{id}', { mimeType: 'text/plain' }, (_uri, { id }) => `Item ${id}`);
  server.registerPrompt(
    'greet',
    {
      argsSchema: z.object({ topic: z.string().optional() }),
      complete: { topic: (value) => [`${value}ology`] },
    },
    ({ topic }) => `Hello ${topic ?? 'you'}`,
  );
}
