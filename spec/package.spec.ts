/** The names that the package promises, by entry. */
import path from 'node:path';
import ts from 'typescript';
import * as main from 'express-mcp';
import { createProgram, root } from './support/program';

const values = [
  'ErrorCode',
  'InvalidTokenError',
  'McpError',
  'McpServer',
  'MemorySessionStore',
  'ToolError',
  'allow',
  'allowAll',
  'bearerAuth',
  'deny',
  'elicit',
  'mcpRouter',
  'protectedResourceMetadata',
  'validateOrigin',
];

const types: string[] = [];

const entry = path.join(root, 'lib/index.ts');
let checker: ts.TypeChecker;
let exported: ts.Symbol[];

beforeAll(() => {
  const program = createProgram([entry]);
  checker = program.getTypeChecker();
  const source = program.getSourceFile(entry);
  const symbol = source && checker.getSymbolAtLocation(source);
  exported = symbol ? checker.getExportsOfModule(symbol) : [];
}, 60_000);

/** What an exported name stands for, past `export { name } from`. */
function original(symbol: ts.Symbol): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

function isValue(symbol: ts.Symbol): boolean {
  return (original(symbol).flags & ts.SymbolFlags.Value) !== 0;
}

describe('the package', () => {
  it('exports these values, and no others', () => {
    expect(Object.keys(main).sort()).toEqual(values);
  });

  it('exports these types, and no others', () => {
    const names = exported.filter((symbol) => !isValue(symbol)).map(({ name }) => name);
    expect(names.sort()).toEqual(types);
  });

  it('documents every exported name', () => {
    const silent = exported.filter((symbol) => original(symbol).getDocumentationComment(checker).length === 0);
    expect(exported.length).toBeGreaterThan(0);
    expect(silent.map(({ name }) => name)).toEqual([]);
  });

  it('documents every option', () => {
    // Options are a promise each: unit, default and effect (the specification's own types say it there).
    const options = exported.filter(({ name }) => name.endsWith('Options'));
    const silent = options.flatMap((symbol) =>
      checker
        .getPropertiesOfType(checker.getDeclaredTypeOfSymbol(original(symbol)))
        .filter((property) => property.getDocumentationComment(checker).length === 0)
        .map((property) => `${symbol.name}.${property.name}`),
    );
    expect(options.length).toBeGreaterThan(0);
    expect(silent).toEqual([]);
  });

  it('exports by name and not by star, and does nothing else at its entry', () => {
    const source = createSource(entry);
    const others = source.statements.filter(
      (statement) =>
        !ts.isExportDeclaration(statement) || !statement.exportClause || !ts.isNamedExports(statement.exportClause),
    );
    expect(others.map((statement) => statement.getText(source))).toEqual([]);
  });
});

function createSource(file: string): ts.SourceFile {
  return ts.createSourceFile(file, ts.sys.readFile(file) ?? '', ts.ScriptTarget.Latest, true);
}
