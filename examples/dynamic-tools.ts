// node -r esbuild-register examples/dynamic-tools.ts
/** Tools that differ by caller: each user saves templates, and each template is a tool of that user alone. */
import express from 'express';
import { allowAll, bearerAuth, McpServer, mcpRouter, ToolError } from 'express-mcp';
import type { ProvidedTool } from 'express-mcp';
import * as z from 'zod';

const { PORT = '3003' } = process.env;
const tokens = new Map(['alice', 'bob'].map((principal) => [`token-of-${principal}`, { principal }]));
const verify = (token: string) => tokens.get(token) ?? null;

interface Template extends ProvidedTool {
  text: string;
}

/** By principal, then by name. The objects stay the same from list to list, so that each is made ready once. */
const templates = new Map<string, Map<string, Template>>();
const templatesOf = (principal = '') => templates.get(principal) ?? new Map<string, Template>();

const server = new McpServer({ name: 'templates', version: '1.0.0' }, { authorizer: allowAll });

server.registerTool(
  'save_template',
  {
    description: 'Save a text with {name} in it as a tool of your own',
    inputSchema: z.object({ title: z.string().regex(/^[a-z_]{1,32}$/), text: z.string() }),
  },
  ({ title, text }, { principal = '' }) => {
    if (templatesOf(principal).size >= 20) throw new ToolError('You have 20 templates; that is the most');
    const name = `write_${title}`;
    const inputSchema = z.object({ name: z.string() });
    const template = { name, text, inputSchema, description: `Fill in: ${text}` };
    templates.set(principal, templatesOf(principal).set(name, template));
    // Clients that listen fetch their list anew.
    server.notifyToolsChanged();
    return `Saved as ${name}`;
  },
);

server.provideTools({
  listTools: ({ principal }) => [...templatesOf(principal).values()],
  // Only for a tool of the caller's own list, with arguments that fit it.
  callTool: (tool, { name }, { principal }) =>
    templatesOf(principal).get(tool)?.text.replaceAll('{name}', String(name)),
});

const app = express();
app.use('/mcp', bearerAuth({ verify, resourceMetadata: false }), mcpRouter(server));
app.listen(Number(PORT), '127.0.0.1', (error) => {
  if (error) throw error;
  console.log(`MCP endpoint: http://127.0.0.1:${PORT}/mcp, for token-of-alice and token-of-bob`);
});
