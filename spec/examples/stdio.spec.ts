/** `examples/stdio.ts`, started by a client as its first line says. */
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { commandOf } from '../support/example';

const [, ...args] = commandOf('stdio').split(' ');
const cwd = path.join(__dirname, '../..');
let client: Client;
let agreed = false;

beforeAll(async () => {
  client = new Client({ name: 'desktop', version: '1' }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    expect(params.message).toBe('May forget_notes run?');
    if (!agreed || !('requestedSchema' in params)) return { action: 'decline' };
    const [field = ''] = Object.keys(params.requestedSchema.properties);
    return { action: 'accept', content: { [field]: true } };
  });
  await client.connect(new StdioClientTransport({ command: process.execPath, args, cwd, stderr: 'ignore' }));
}, 60_000);
afterAll(() => client.close());

const call = async (name: string, given = {}) => (await client.callTool({ name, arguments: given })).content;

describe('the example stdio', () => {
  it('keeps notes, and forgets them only when the user agrees', async () => {
    expect(await call('list_notes')).toEqual([{ type: 'text', text: 'None' }]);
    expect(await call('save_note', { name: 'milk', text: 'two litres' })).toEqual([
      { type: 'text', text: 'Saved as milk' },
    ]);
    await call('forget_notes');
    expect(await call('list_notes')).toEqual([{ type: 'text', text: 'milk' }]);
    agreed = true;
    expect(await call('forget_notes')).toEqual([{ type: 'text', text: 'Forgotten' }]);
    expect(await call('list_notes')).toEqual([{ type: 'text', text: 'None' }]);
  });
});
