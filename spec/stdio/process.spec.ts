/** serveStdio in a process of its own: its stdout, its end, and the official clients that start it. */
import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { Client as Client2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { lineClient } from '../support/lines';
import { textOfMessage } from '../support/memory';

const root = path.join(__dirname, '../..');
const args = ['-r', 'esbuild-register', 'spec/stdio/program.ts'];
const programs = new Set<ChildProcessWithoutNullStreams>();
const clients = new Set<Client1 | Client2>();

jest.setTimeout(60_000);

/** The program, its stdout from the second line on, its stderr as it comes. */
async function start() {
  const child = spawn(process.execPath, args, { cwd: root });
  programs.add(child);
  const output = { stderr: '' };
  child.stderr.on('data', (text) => (output.stderr += String(text)));
  const exited = once(child, 'exit').then(([code, signal]) => {
    programs.delete(child);
    return { code: code as number | null, signal: signal as string | null };
  });
  const [first] = (await once(child.stdout, 'data')) as [Buffer];
  expect(String(first)).toBe("before: stdout is still the program's own\n");
  return { child, output, exited };
}

afterEach(async () => {
  for (const child of programs) child.kill('SIGKILL');
  for (const client of clients) await client.close();
  clients.clear();
});

describe('the process', () => {
  // https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
  it('MUST NOT write to stdout what is no message: what the author prints goes to stderr', async () => {
    const { child, output, exited } = await start();
    // Reads every line as JSON, and throws at another.
    const client = lineClient(child);
    expect(textOfMessage(await client.request('tools/call', { name: 'noisy', arguments: {} }))).toBe('quiet');
    expect(client.received).toHaveLength(1);
    child.stdin.end();
    expect(await exited).toEqual({ code: 0, signal: null });
    for (const text of ['log\n', 'info\n', '│ a ', 'written\n', 'error\n']) expect(output.stderr).toContain(text);
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio#shutdown
  it('SHOULD exit promptly when its stdin is closed, whatever runs', async () => {
    const { child, output, exited } = await start();
    const client = lineClient(child);
    void client.request('tools/call', { name: 'hold', arguments: {} });
    void client.request('subscriptions/listen', { notifications: {} });
    await client.next(({ method }) => method === 'notifications/subscriptions/acknowledged');
    child.stdin.end();
    expect(await exited).toEqual({ code: 0, signal: null });
    expect(output.stderr).toBe('aborted\n');
  });

  it('ends its subscriptions and exits when the program closes', async () => {
    const { child, exited } = await start();
    const client = lineClient(child);
    const listening = client.request('subscriptions/listen', { notifications: {} }, { id: 1 });
    await client.next(({ method }) => method === 'notifications/subscriptions/acknowledged');
    child.kill('SIGTERM');
    expect((await listening).result).toMatchObject({ resultType: 'complete' });
    expect(await exited).toEqual({ code: 0, signal: null });
  });

  it('ends in peace when nobody reads its stdout any more', async () => {
    const { child, output, exited } = await start();
    child.stdout.destroy();
    child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
    expect(await exited).toEqual({ code: 0, signal: null });
    expect(output.stderr).toBe('');
  });
});

describe('the official client', () => {
  it('1.x starts it, asks for everything, answers and hears', async () => {
    const client = new Client1({ name: 'one', version: '1' }, { capabilities: { elicitation: {} } });
    clients.add(client);
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({
      action: 'accept',
      content: { ok: params.message === 'Deploy to prod?' },
    }));
    const changed = new Promise((resolve) => client.setNotificationHandler(ToolListChangedNotificationSchema, resolve));
    // The line that is no message comes before; clients pass over it.
    await client.connect(new Stdio1({ command: process.execPath, args, cwd: root, stderr: 'ignore' }));
    expect(client.getServerVersion()).toMatchObject({ name: 'program' });
    const progress: number[] = [];
    const options = { onprogress: (step: { progress: number }) => void progress.push(step.progress) };
    const text = async (name: string, given: Record<string, unknown> = {}) =>
      (await client.callTool({ name, arguments: given }, undefined, options)).content;
    expect(await text('noisy')).toEqual([{ type: 'text', text: 'quiet' }]);
    expect(await text('ask', { env: 'prod' })).toEqual([
      { type: 'text', text: '{"action":"accept","content":{"ok":true}}' },
    ]);
    expect(progress).toEqual([1]);
    await text('grow');
    await changed;
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('grown');
    expect((await client.readResource({ uri: 'note://7' })).contents).toMatchObject([{ text: 'Note 7' }]);
    expect((await client.getPrompt({ name: 'greet', arguments: { who: 'Ada' } })).messages).toHaveLength(1);
  });

  it.each(['legacy', 'modern'] as const)('2.x starts it, asks for everything, answers and hears (%s)', async (era) => {
    const changes: unknown[] = [];
    let heard: () => void;
    const changed = new Promise<void>((resolve) => (heard = resolve));
    const client = new Client2(
      { name: 'two', version: '1' },
      {
        capabilities: { elicitation: {} },
        versionNegotiation: { mode: era === 'legacy' ? 'legacy' : { pin: '2026-07-28' } },
        listChanged: {
          tools: {
            onChanged: (error, tools) => {
              changes.push(error ?? tools?.map(({ name }) => name));
              heard();
            },
          },
        },
      },
    );
    clients.add(client);
    client.setRequestHandler('elicitation/create', ({ params }) => ({
      action: 'accept',
      content: { ok: params.message === 'Deploy to prod?' },
    }));
    await client.connect(new Stdio2({ command: process.execPath, args, cwd: root, stderr: 'ignore' }));
    expect(client.getNegotiatedProtocolVersion()).toBe(era === 'legacy' ? '2025-11-25' : '2026-07-28');
    const text = async (name: string, given: Record<string, unknown> = {}) =>
      (await client.callTool({ name, arguments: given })).content;
    expect(await text('noisy')).toEqual([{ type: 'text', text: 'quiet' }]);
    expect(await text('ask', { env: 'prod' })).toEqual([
      { type: 'text', text: '{"action":"accept","content":{"ok":true}}' },
    ]);
    await text('grow');
    await changed;
    expect(changes).toEqual([expect.arrayContaining(['grown'])]);
    expect((await client.readResource({ uri: 'note://7' })).contents).toMatchObject([{ text: 'Note 7' }]);
    expect((await client.getPrompt({ name: 'greet', arguments: { who: 'Ada' } })).messages).toHaveLength(1);
  });
});
