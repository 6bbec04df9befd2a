/** Every piece of TypeScript that the documentation shows compiles against the package as it is. */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { createProgram, describeDiagnostic, root } from './support/program';

interface Snippet {
  /** Where a reader finds it. */
  origin: string;
  /** The name it is compiled under, beside its page. */
  file: string;
  text: string;
}

/**
 * What a snippet may use without saying where it comes from: the app and the server that the page has introduced.
 * A snippet's own imports and declarations come first.
 */
const ambient = `
import type { Express, RequestHandler } from 'express';
import type { McpServer } from 'express-mcp';
declare global {
  const app: Express;
  const server: McpServer;
  /** The host's own login. */
  const requireLogin: RequestHandler;
  const express: typeof import('express');
  const z: typeof import('zod');
  const createClient: typeof import('redis').createClient;
AMBIENT
}
`;

const pages = ['README.md', ...filesIn('docs', '.md')];
const examples = filesIn('examples', '.ts');
const sources = filesIn('lib', '.ts');
const snippets = [...pages, ...sources].flatMap(snippetsOf);
const problems = new Map<string, string[]>();

function filesIn(folder: string, extension: string): string[] {
  return readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(extension))
    .map((file) => `${folder}/${file}`)
    .sort();
}

/** The fenced blocks of a page; of a source file, those in its comments, and the `@example`s. */
function snippetsOf(page: string): Snippet[] {
  const text = readFileSync(path.join(root, page), 'utf8');
  const patterns = page.endsWith('.md')
    ? [/^[ \t]*```(?:ts|typescript)\b.*\n([\s\S]*?)^[ \t]*```/gm]
    : [
        /^[ \t]*\* ```(?:ts|typescript)\b.*\n([\s\S]*?)^[ \t]*\* ```/gm,
        // Without a fence, an example is the lines up to the next tag.
        /^[ \t]*\* @example[ \t]*\n((?:[ \t]*\*(?!\/| @| ```).*\n)+)/gm,
      ];
  return patterns
    .flatMap((pattern) => [...text.matchAll(pattern)])
    .map(({ index, 1: body = '' }) => {
      const line = text.slice(0, index).split('\n').length;
      return {
        origin: `${page}:${line}`,
        // A module of ECMAScript: it may await at its top, as examples do.
        file: path.join(root, 'spec', `${page.replace(/[^A-Za-z0-9]/g, '-')}-${line}.mts`),
        text: `${page.endsWith('.md') ? body : body.replace(/^[ \t]*\* ?/gm, '')}\nexport {};\n`,
      };
    });
}

/** Every value of the package and of its subpaths by its own name, so that a snippet needs no import line. */
function packageGlobals(): string {
  return ['lib/index.ts', ...filesIn('lib', '/index.ts')].flatMap(valuesOf).join('\n');
}

function valuesOf(entry: string): string[] {
  const source = ts.createSourceFile(entry, readFileSync(path.join(root, entry), 'utf8'), ts.ScriptTarget.Latest, true);
  const specifier = entry.replace(/^lib/, 'express-mcp').replace(/\/index\.ts$/, '');
  return source.statements
    .flatMap(namesExportedBy)
    .map((name) => `  const ${name}: typeof import('${specifier}').${name};`);
}

/** The values among what a statement of an entry exports: `export { a, b } from`, or a declaration. */
function namesExportedBy(statement: ts.Statement): string[] {
  if (ts.isExportDeclaration(statement) && !statement.isTypeOnly && statement.exportClause) {
    if (!ts.isNamedExports(statement.exportClause)) return [];
    return statement.exportClause.elements.filter(({ isTypeOnly }) => !isTypeOnly).map(({ name }) => name.text);
  }
  const declares = ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement);
  const exported = declares && statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
  return exported && statement.name ? [statement.name.text] : [];
}

beforeAll(() => {
  const virtual = new Map(snippets.map(({ file, text }) => [file, text]));
  const globals = path.join(root, 'spec/docs-globals.d.ts');
  virtual.set(globals, ambient.replace('AMBIENT', packageGlobals()));
  const program = createProgram(
    examples.map((file) => path.join(root, file)),
    virtual,
  );
  const ambientFile = program.getSourceFile(globals);
  problems.set(globals, program.getSemanticDiagnostics(ambientFile).map(describeDiagnostic));
  for (const file of [...snippets.map((snippet) => snippet.file), ...examples.map((name) => path.join(root, name))]) {
    const source = program.getSourceFile(file);
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    problems.set(
      file,
      // A snippet shows a thing without using it.
      found.filter(({ code }) => code !== 6133 && code !== 6192 && code !== 6196).map(describeDiagnostic),
    );
  }
}, 120_000);

describe('the documentation', () => {
  it('introduces its globals rightly', () => {
    expect([...problems].filter(([file]) => file.endsWith('docs-globals.d.ts'))).toEqual([[expect.any(String), []]]);
  });

  it.each(snippets)('compiles at $origin', ({ file }) => {
    expect(problems.get(file)).toEqual([]);
  });

  it.each(examples)('compiles %s', (file) => {
    expect(problems.get(path.join(root, file))).toEqual([]);
  });

  it('links only to pages and files that exist', () => {
    const broken = pages.flatMap((page) =>
      [...readFileSync(path.join(root, page), 'utf8').matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !ts.sys.fileExists(path.join(root, path.dirname(page), target)))
        .filter((target) => !ts.sys.directoryExists(path.join(root, path.dirname(page), target)))
        .map((target) => `${page} links to ${target}`),
    );
    expect(broken).toEqual([]);
  });
});

describe('each example', () => {
  it.each(examples)('%s is one file under 60 lines that says how to start it', (file) => {
    const lines = readFileSync(path.join(root, file), 'utf8').trimEnd().split('\n');
    expect(lines.length).toBeLessThan(60);
    expect(lines[0]).toMatch(/npm |node /);
  });
});
