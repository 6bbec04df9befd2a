/** The conformance suite's tools for what is stateless, and for parameters that are mirrored into headers. */
import type { McpServer } from 'express-mcp';
import * as z from 'zod';

export function registerDiagnostics(server: McpServer): void {
  server.registerTool(
    'test_missing_capability',
    { description: 'Needs a client with sampling' },
    async (_args, ctx) => {
      const { content } = await ctx.sample('answer', {
        messages: [{ role: 'user', content: { type: 'text', text: 'Hello' } }],
        maxTokens: 10,
      });
      return JSON.stringify(content);
    },
  );
  server.registerTool(
    'test_streaming_elicitation',
    { description: 'Logs, then asks the user', stream: 'always' },
    async (_args, ctx) => {
      ctx.log('info', 'About to ask');
      const { action } = await ctx.elicit('confirm', { message: 'Go on?', schema: z.object({ ok: z.boolean() }) });
      return action;
    },
  );
  server.registerTool('test_logging_tool', { description: 'Logs what the request wants logged' }, (_args, ctx) => {
    ctx.log('debug', 'A detail');
    ctx.log('error', 'A problem');
    return 'Logged';
  });
  server.registerTool('test_trigger_tool_change', { description: 'Says that the tools have changed' }, () => {
    server.notifyToolsChanged();
    return 'Said';
  });
  server.registerTool('test_trigger_prompt_change', { description: 'Says that the prompts have changed' }, () => {
    server.notifyPromptsChanged();
    return 'Said';
  });
  server.registerTool(
    'test_x_mcp_header',
    {
      description: 'Has a parameter that is mirrored into a header',
      inputSchema: {
        type: 'object',
        properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, level: { type: 'integer' } },
      },
    },
    (args) => JSON.stringify(args),
  );
}
