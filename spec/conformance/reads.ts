/** The conformance suite's resources and prompts. */
import type { McpServer } from 'express-mcp';
import * as z from 'zod';
import { png } from './samples';

export function registerReads(server: McpServer): void {
  registerResources(server);
  registerPrompts(server);
}

function registerResources(server: McpServer): void {
  server.registerResource(
    'static-text',
    'test://static-text',
    { description: 'Text that never changes', mimeType: 'text/plain' },
    () => 'This is the content of the static text resource.',
  );
  server.registerResource(
    'static-binary',
    'test://static-binary',
    { description: 'Bytes that never change', mimeType: 'image/png' },
    () => Buffer.from(png, 'base64'),
  );
  server.registerResource(
    'watched-resource',
    'test://watched-resource',
    { description: 'A resource to subscribe to', mimeType: 'text/plain' },
    () => 'Watched.',
  );
  server.registerResource(
    'template',
    'test://template/{id}/data',
    { description: 'Data by id', mimeType: 'application/json' },
    (_uri, { id }) => JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
  );
}

function registerPrompts(server: McpServer): void {
  server.registerPrompt(
    'test_simple_prompt',
    { description: 'A prompt without arguments' },
    () => 'This is a simple prompt for testing.',
  );
  server.registerPrompt(
    'test_prompt_with_arguments',
    {
      description: 'A prompt with two arguments',
      argsSchema: z.object({ arg1: z.string(), arg2: z.string() }),
      complete: { arg1: (value) => ['test-one', 'test-two'].filter((candidate) => candidate.startsWith(value)) },
    },
    ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
  );
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'A prompt that embeds a resource', argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) => [
      {
        role: 'user',
        content: {
          type: 'resource',
          resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
        },
      },
      { role: 'user', content: { type: 'text', text: 'Please process the embedded resource above.' } },
    ],
  );
  server.registerPrompt('test_prompt_with_image', { description: 'A prompt that shows an image' }, () => [
    { role: 'user', content: { type: 'image', data: png, mimeType: 'image/png' } },
    { role: 'user', content: { type: 'text', text: 'Please look at the image above.' } },
  ]);
}
