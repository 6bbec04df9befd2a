/** What the compiler makes of handlers as people write them: inline, without annotations. */
import path from 'node:path';
import { createProgram, describeDiagnostic, root } from './support/program';

const head = `
import type { McpServer } from 'express-mcp';
import * as z from 'zod';
declare const server: McpServer;
const inputSchema = z.object({ city: z.string() });
const outputSchema = z.object({ kind: z.enum(['sun', 'rain']), hours: z.array(z.object({ unit: z.literal('h') })) });
void [inputSchema, outputSchema];
`;

const fits = {
  text: `server.registerTool('t', {}, () => 'text');`,
  nothing: `server.registerTool('t', {}, async () => {});`,
  content: `server.registerTool('t', {}, () => [{ type: 'text', text: 'hello' }]);`,
  'content, later': `server.registerTool('t', { inputSchema }, async ({ city }, ctx) => {
    ctx.log('info', city);
    return [{ type: 'text', text: city }, { type: 'image', data: '', mimeType: 'image/png' }];
  });`,
  'a full result': `server.registerTool('t', { inputSchema }, async ({ city }) => ({
    content: [{ type: 'text', text: city }], isError: true,
  }));`,
  'a structured value': `server.registerTool('t', { outputSchema }, () => ({ kind: 'sun', hours: [{ unit: 'h' }] }));`,
  'a structured value, later': `server.registerTool('t', { inputSchema, outputSchema }, async ({ city }) => {
    if (city === '') return { content: [{ type: 'text', text: 'Which city?' }], isError: true };
    return { kind: 'rain', hours: [{ unit: 'h' }] };
  });`,
};

const doesNotFit = {
  'a wrong literal': `server.registerTool('t', { outputSchema }, () => ({ kind: 'snow', hours: [] }));`,
  'a missing field': `server.registerTool('t', { outputSchema }, async () => ({ kind: 'sun' }));`,
  'a value without an output schema': `server.registerTool('t', {}, () => ({ kind: 'sun' }));`,
  'an unknown argument': `server.registerTool('t', { inputSchema }, ({ town }) => town);`,
  'an unknown kind of content': `server.registerTool('t', {}, () => [{ type: 'picture', data: '' }]);`,
};

const fileOf = (name: string) => path.join(root, 'spec', `${name}.virtual.ts`);
const texts = Object.entries({ ...fits, ...doesNotFit });
const program = createProgram([], new Map(texts.map(([name, text]) => [fileOf(name), head + text])));
const problemsOf = (name: string) =>
  program.getSemanticDiagnostics(program.getSourceFile(fileOf(name))).map(describeDiagnostic);

describe('registerTool', () => {
  it.each(Object.keys(fits))(
    'takes a handler that returns %s',
    (name) => {
      expect(problemsOf(name)).toEqual([]);
    },
    60_000,
  );

  it.each(Object.keys(doesNotFit))(
    'refuses a handler with %s',
    (name) => {
      expect(problemsOf(name)).toHaveLength(1);
    },
    60_000,
  );
});
