/** `docs/getting-started.md`, done as it says: the server, the call by hand, the client; and the errors as it quotes them. */
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
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

/** Section 4, done as it says: three lines of the server replaced, and nothing else. */
function decided(): string {
  const [first = '', , changed = ''] = blocks('ts');
  const places = [
    /^import .* from 'express-mcp';$/m,
    /^(?:const tokens = .*\n)?const server = .*$/m,
    /^app\.use\(.*$/m,
  ];
  return places.reduce((text, place) => {
    const [line = ''] = place.exec(changed) ?? [];
    expect([text.match(place)?.length, line]).toEqual([1, expect.stringContaining(' ')]);
    return text.replace(place, () => line);
  }, first);
}

function serve(block: string): Promise<void> {
  const env = { ...process.env, NODE_ENV: undefined };
  server = spawn(process.execPath, nodeArgs(block), { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] });
  return untilListening();
}

async function end(): Promise<void> {
  const ended = once(server, 'close');
  server.kill();
  await ended;
}

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

/** Until it prints its URL. */
async function untilListening(): Promise<void> {
  const [line] = await Promise.race([once(server.stdout!, 'data'), once(server, 'close')]);
  expect(String(line)).toBe(`MCP endpoint: http://127.0.0.1:${port}/mcp\n`);
}

beforeAll(async () => {
  port = String(await freePort());
  await serve(blocks('ts')[0]!);
}, 60_000);

afterAll(end);

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

  it('has a login that the call by hand and the client get past with the token, and not without', async () => {
    await end();
    await serve(decided());
    const line = blocks('sh').find((block) => block.startsWith('curl')) ?? '';
    const header = /`-H '(Authorization: .*?)'`/.exec(page)?.[1] ?? '';
    const call = async (more: string) =>
      (await run('bash', ['-c', line.replace(' -d', `${more} -w '%{http_code}' -d`)])).stdout;
    expect(await call('')).toMatch(/401$/);
    expect(await call(` -H '${header}'`)).toMatch(/Sunny in Paris.*200$/s);

    const options = /`(\{ requestInit: .*?)`/.exec(page)?.[1] ?? '';
    const client = blocks('ts')[1]!.replace("/mcp')", `/mcp'), ${options}`);
    expect(client).toContain(header.replace(/^.*: /, ''));
    const { stdout } = await run(process.execPath, nodeArgs(client), { cwd: root });
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
