// node -r esbuild-register examples/stdio.ts
/** The same server over standard input and output: what desktop clients and agents start as a child process. */
import { elicit, allow, McpServer } from 'express-mcp';
import { serveStdio } from 'express-mcp/stdio';
import * as z from 'zod';

const notes = new Map<string, string>();

const server = new McpServer(
  { name: 'notes', version: '1.0.0', instructions: 'Keeps notes while it runs.' },
  {
    // Whoever starts the process is the user; what cannot be undone is asked first.
    authorizer: (call) => (call.definition.sensitive ? elicit(`May ${call.name} run?`) : allow()),
  },
);

server.registerTool(
  'save_note',
  { description: 'Keep a text under a name', inputSchema: z.object({ name: z.string(), text: z.string() }) },
  ({ name, text }) => {
    notes.set(name, text);
    // Goes to stderr: stdout belongs to the protocol.
    console.log(`saved ${name}`);
    return `Saved as ${name}`;
  },
);

server.registerTool('list_notes', { description: 'Names of all notes' }, () => [...notes.keys()].join('\n') || 'None');

server.registerTool('forget_notes', { description: 'Delete all notes', sensitive: true }, () => {
  notes.clear();
  return 'Forgotten';
});

const serving = serveStdio(server);
process.once('SIGTERM', () => void serving.close({ graceMs: 2_000 }));
