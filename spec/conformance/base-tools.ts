/** The conformance suite's tools for content, progress, logging, and questions to legacy clients. */
import { setTimeout as delay } from 'node:timers/promises';
import { ToolError } from 'express-mcp';
import type { McpServer } from 'express-mcp';
import * as z from 'zod';
import { png, wav } from './samples';

export function registerBaseTools(server: McpServer): void {
  registerContent(server);
  registerSignals(server);
  registerLegacyQuestions(server);
  registerJsonSchema(server);
}

function registerContent(server: McpServer): void {
  server.registerTool(
    'test_simple_text',
    { description: 'Returns text' },
    () => 'This is a simple text response for testing.',
  );
  server.registerTool('test_image_content', { description: 'Returns an image' }, () => [
    { type: 'image', data: png, mimeType: 'image/png' },
  ]);
  server.registerTool('test_audio_content', { description: 'Returns audio' }, () => [
    { type: 'audio', data: wav, mimeType: 'audio/wav' },
  ]);
  server.registerTool('test_embedded_resource', { description: 'Returns an embedded resource' }, () => [
    {
      type: 'resource',
      resource: {
        uri: 'test://embedded-resource',
        mimeType: 'text/plain',
        text: 'This is an embedded resource content.',
      },
    },
  ]);
  server.registerTool('test_multiple_content_types', { description: 'Returns text, an image and a resource' }, () => [
    { type: 'text', text: 'Multiple content types test:' },
    { type: 'image', data: png, mimeType: 'image/png' },
    {
      type: 'resource',
      resource: {
        uri: 'test://mixed-content-resource',
        mimeType: 'application/json',
        text: JSON.stringify({ test: 'data', value: 123 }),
      },
    },
  ]);
  server.registerTool('test_error_handling', { description: 'Fails' }, () => {
    throw new ToolError('This tool intentionally returns an error for testing');
  });
}

function registerSignals(server: McpServer): void {
  server.registerTool('test_tool_with_progress', { description: 'Reports progress' }, async (_args, ctx) => {
    for (const progress of [0, 50, 100]) {
      ctx.progress(progress, 100);
      await delay(50, undefined, { signal: ctx.signal });
    }
    return 'Progress reported';
  });
  server.registerTool('test_tool_with_logging', { description: 'Logs while it runs' }, async (_args, ctx) => {
    for (const step of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      ctx.log('info', step);
      await delay(50, undefined, { signal: ctx.signal });
    }
    return 'Logged';
  });
  server.registerTool(
    'test_reconnection',
    { description: 'Lets the connection go before it has its result', stream: 'always' },
    async (_args, ctx) => {
      ctx.closeStream();
      await delay(100, undefined, { signal: ctx.signal });
      return 'The result, after the client has come back';
    },
  );
}

function registerLegacyQuestions(server: McpServer): void {
  server.registerTool(
    'test_sampling',
    { description: "Asks the client's model", inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, ctx) => {
      const { content } = await ctx.sample('answer', {
        messages: [{ role: 'user', content: { type: 'text', text: prompt } }],
        maxTokens: 100,
      });
      return `LLM response: ${JSON.stringify(content)}`;
    },
  );
  server.registerTool(
    'test_elicitation',
    { description: 'Asks the user', inputSchema: z.object({ message: z.string() }) },
    async ({ message }, ctx) => {
      const schema = z.object({ username: z.string(), email: z.string() });
      return `User response: ${JSON.stringify(await ctx.elicit('user', { message, schema }))}`;
    },
  );
  const withDefaults = z.object({
    name: z.string().default('John Doe'),
    age: z.int().default(30),
    score: z.number().default(95.5),
    status: z.enum(['active', 'inactive', 'pending']).default('active'),
    verified: z.boolean().default(true),
  });
  server.registerTool(
    'test_elicitation_sep1034_defaults',
    { description: 'Asks with a default for each kind of field' },
    async (_args, ctx) =>
      JSON.stringify(await ctx.elicit('form', { message: 'Please check the defaults', schema: withDefaults })),
  );
  const titled = [
    { const: 'value1', title: 'First Option' },
    { const: 'value2', title: 'Second Option' },
    { const: 'value3', title: 'Third Option' },
  ];
  const options = ['option1', 'option2', 'option3'];
  const choices = {
    type: 'object',
    properties: {
      untitledSingle: { type: 'string', enum: options },
      titledSingle: { type: 'string', oneOf: titled },
      legacyEnum: { type: 'string', enum: options, enumNames: ['Option One', 'Option Two', 'Option Three'] },
      untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
      titledMulti: { type: 'array', items: { anyOf: titled } },
    },
  };
  server.registerTool(
    'test_elicitation_sep1330_enums',
    { description: 'Asks with every kind of choice' },
    async (_args, ctx) => JSON.stringify(await ctx.elicit('form', { message: 'Please choose', schema: choices })),
  );
}

function registerJsonSchema(server: McpServer): void {
  const inputSchema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {
      address: {
        $anchor: 'addressDef',
        type: 'object',
        properties: { street: { type: 'string' }, city: { type: 'string' } },
      },
    },
    properties: {
      name: { type: 'string' },
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: { type: 'string' },
      email: { type: 'string' },
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  };
  server.registerTool(
    'json_schema_2020_12_tool',
    { description: 'Has a schema with keywords of 2020-12', inputSchema },
    (args) => JSON.stringify(args),
  );
}
