/** `docs/getting-started.md`, done as it says: the server, the call by hand, the client; and the errors as it quotes them. */
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { McpServer, mcpRouter } from 'express-mcp';
import ts from 'typescript';
import * as z from 'zod';
import { freePort } from './support/example';
import { root } from './support/program';

const page = readFileSync(path.join(root, 'docs/getting-started.md'), 'utf8');
const run = promisify(execFile);
let port: string;
let server: ChildProcess;

/** The page's blocks of a language, with our port in the place of 3000. */
function blocks(language: string): string[] {
  const fence = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm');
  return [...page.matchAll(fence)].map(([, text = '']) => text.replaceAll('3000', port));
}

/** The arguments by which node runs a block, from the repository, against the sources. */
function nodeArgs(block: string): string[] {
  const options = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022, esModuleInterop: true };
  return ['-r', 'esbuild-register', '-e', ts.transpile(block, options)];
}

async function untilListening(): Promise<void> {
  for (;;) {
    const socket = connect(Number(port), '127.0.0.1');
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
    if (server.exitCode !== null) throw new Error(`The server ended with ${server.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

beforeAll(async () => {
  port = String(await freePort());
  const env = { ...process.env, NODE_ENV: undefined };
  server = spawn(process.execPath, nodeArgs(blocks('ts')[0]!), { cwd: root, env, stdio: 'inherit' });
  await untilListening();
}, 60_000);

afterAll(async () => {
  const ended = once(server, 'close');
  server.kill();
  await ended;
});

describe('docs/getting-started.md', () => {
  it('has a call by hand that gets the answer that it shows', async () => {
    const line = blocks('sh').find((block) => block.startsWith('curl')) ?? '';
    const shown = /`("content":.*?)`/.exec(page)?.[1] ?? '';
    const { stdout } = await run('bash', ['-c', line]);
    expect(stdout).toContain(shown);
  });

  it('has a client that lists the tool and calls it', async () => {
    const { stdout } = await run(process.execPath, nodeArgs(blocks('ts')[1]!), { cwd: root });
    expect(stdout).toContain("[ 'get_weather' ]");
    expect(stdout).toContain('Sunny in Paris');
  }, 60_000);

  it('quotes the errors at start as they are', () => {
    const mistakes = [
      () => weather().registerTool('x', { inputSchema: { city: z.string() } as never }, () => ''),
      () => weather().registerTool('x', { inputSchema: oldZod }, () => ''),
      () => weather().registerTool('x', { inputSchema: z.object({ when: z.date() }) }, () => ''),
      () => mcpRouter(weather('delete_account', { sensitive: true })),
      () => weather('x').registerTool('x', {}, () => ''),
      () => weather('a name'),
    ];
    const rows = rowsAfter('At start:');
    expect(rows.length).toBe(mistakes.length);
    for (const [index, mistake] of mistakes.entries()) {
      const message = messageOf(mistake);
      for (const piece of piecesOf(rows[index]?.[0])) expect(message).toContain(piece);
    }
  });

  it('quotes the errors in answers as they are', () => {
    const sources = readdirSync(path.join(root, 'lib'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => readFileSync(path.join(root, 'lib', file), 'utf8'))
      .join('\n');
    const quoted = rowsAfter('In answers:').filter(([status]) => !status?.endsWith('HTML'));
    expect(quoted.length).toBeGreaterThan(10);
    const pieces = quoted.flatMap(([, text]) => piecesOf(text));
    expect(pieces.filter((piece) => !sources.includes(piece))).toEqual([]);
  });
});

/** A schema of a zod that cannot give its JSON Schema. */
const oldZod = { '~standard': { version: 1, vendor: 'zod', validate: (value: unknown) => ({ value }) } } as const;

function weather(tool?: string, config = {}): McpServer {
  const made = new McpServer({ name: 'weather', version: '1.0.0' });
  if (tool !== undefined) made.registerTool(tool, config, () => '');
  return made;
}

function messageOf(mistake: () => unknown): string {
  try {
    mistake();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error(`No mistake: ${String(mistake)}`);
}

/** The cells of the table after a line, without its head. */
function rowsAfter(line: string): string[][] {
  const [table = ''] = page.slice(page.indexOf(`\n${line}\n`) + line.length + 2).match(/(?:^\|.*\n)+/m) ?? [];
  const lines = table.trimEnd().split('\n').slice(2);
  return lines.map((row) => row.split('|').map((cell) => cell.trim())).map(([, ...cells]) => cells);
}

/** What a cell quotes, cut at "…", which stands for more. */
function piecesOf(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].flatMap(([, text = '']) => text.split('…')).map((piece) => piece.trim());
}
