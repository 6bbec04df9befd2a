/** The tables of the documentation have what the sources have: every option with its default, every code, field, reason. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type ts from 'typescript';
import { ErrorCode, McpServer, mcpRouter } from 'express-mcp';
import type { Posture } from 'express-mcp';
import { createProgram, root } from './support/program';

const entry = path.join(root, 'lib/index.ts');
let checker: ts.TypeChecker;
let names: Map<string, ts.Symbol>;

beforeAll(() => {
  const program = createProgram([entry]);
  checker = program.getTypeChecker();
  const module = checker.getSymbolAtLocation(program.getSourceFile(entry)!)!;
  names = new Map(checker.getExportsOfModule(module).map((symbol) => [symbol.name, symbol]));
}, 60_000);

/** What an exported type has, by name. */
function membersOf(name: string): string[] {
  const type = checker.getDeclaredTypeOfSymbol(checker.getAliasedSymbol(names.get(name)!));
  return checker.getPropertiesOfType(type).map((member) => member.name);
}

/** The values that a member of an exported type may have. */
function valuesOf(name: string, member: string): unknown[] {
  const type = checker.getDeclaredTypeOfSymbol(checker.getAliasedSymbol(names.get(name)!));
  const found = checker.getTypeOfSymbol(checker.getPropertyOfType(type, member)!);
  return (found.isUnion() ? found.types : [found]).map((one) => (one as ts.LiteralType).value);
}

interface Row {
  /** What the first cell has in backquotes; call signatures without their arguments. */
  names: string[];
  cells: string[];
}

/** The rows of the tables under a heading, its sub-headings apart. */
function rowsUnder(page: string, heading: string): Row[] {
  const text = readFileSync(path.join(root, 'docs', page), 'utf8');
  const start = text.indexOf(`\n${heading}\n`);
  if (start < 0) throw new Error(`docs/${page} has no heading "${heading}"`);
  const section = text.slice(start + heading.length + 2).split(/^#/m, 1)[0] ?? '';
  return section
    .split('\n')
    .filter((line) => line.startsWith('|') && !/^\|[\s|:-]+\|$/.test(line))
    .map((line) => {
      const cells = line
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim());
      const found = [...(cells[0] ?? '').matchAll(/`([A-Za-z_]+)(?:\([^`]*\))?`/g)].map(([, name = '']) => name);
      return { names: found, cells };
    });
}

function namesUnder(page: string, heading: string): string[] {
  return rowsUnder(page, heading).flatMap(({ names: found }) => found);
}

/** "`1_048_576` (1 MiB)" as a number. */
function numberIn(cell: string): number | undefined {
  const digits = /^`([\d_]+)`/.exec(cell)?.[1];
  return digits === undefined ? undefined : Number(digits.replaceAll('_', ''));
}

/** Each name once, whatever the order. */
function expectSame(documented: string[], actual: string[]): void {
  expect([...documented].sort()).toEqual([...actual].sort());
}

describe('the tables of the documentation', () => {
  it('have every option of mcpRouter', () => {
    expectSame(namesUnder('endpoint.md', '## Options'), membersOf('McpRouterOptions'));
  });

  it('have the defaults of its limits', () => {
    let posture: Posture | undefined;
    const server = new McpServer({ name: 'limits', version: '1.0.0' });
    mcpRouter(server, { onReady: (ready) => (posture = ready) });
    const documented = rowsUnder('endpoint.md', '## Options').flatMap(({ names: [name], cells: [, , preset = ''] }) =>
      name === undefined || numberIn(preset) === undefined ? [] : [[name, numberIn(preset)] as const],
    );
    const limits = Object.entries(posture?.limits ?? {}).filter(([, limit]) => Number.isFinite(limit));
    expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(limits));
  });

  it('have every option of McpServer', () => {
    expectSame(namesUnder('server.md', '## Options'), membersOf('McpServerOptions'));
  });

  it('have every setting of a tool', () => {
    expectSame(namesUnder('server.md', '## Tools'), membersOf('ToolConfig'));
  });

  it('have everything of the context', () => {
    expectSame(namesUnder('server.md', '## The context'), membersOf('Context'));
  });

  it('have everything that stats() counts', () => {
    expectSame(namesUnder('endpoint.md', '## Watching and closing'), membersOf('MountStats'));
  });

  it('have every reason for which a session ends', () => {
    const documented = rowsUnder('sessions.md', '## How it ends').flatMap(({ cells: [reason = ''] }) =>
      [...reason.matchAll(/`([a-z-]+)`/g)].map(([, word]) => word!),
    );
    expectSame(documented, valuesOf('SessionEnd', 'reason') as string[]);
  });

  it('have every error code', () => {
    const documented = rowsUnder('errors.md', '## Codes').flatMap(({ cells: [code = '', name = ''] }) =>
      name.startsWith('`') && name !== '`ErrorCode`' ? [`${name.slice(1, -1)} ${code}`] : [],
    );
    const codes = Object.entries(ErrorCode).map(([name, code]) => `${name} ${code}`);
    expectSame([...new Set(documented)], codes);
  });

  it('have every dependency, and no other', () => {
    const { dependencies, peerDependencies } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
      dependencies: object;
      peerDependencies: object;
    };
    const documented = rowsUnder('design.md', '## Dependencies').flatMap(({ cells: [name = ''] }) =>
      name.startsWith('`') ? [name.slice(1, -1)] : [],
    );
    expectSame(documented, [...Object.keys(dependencies), ...Object.keys(peerDependencies)]);
  });
});
