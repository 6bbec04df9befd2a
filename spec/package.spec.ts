/** The names that the package promises, by entry. */
import { readFileSync, readdirSync } from 'node:fs';
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

const types = [
  'Annotations',
  'ApprovalPrompt',
  'AudioContent',
  'AuthInfo',
  'Authorizer',
  'BearerAuthOptions',
  'BlobResourceContents',
  'CacheHints',
  'CallToolResult',
  'ClientCapabilities',
  'Completer',
  'Completion',
  'Connection',
  'ContentBlock',
  'Context',
  'CreateMessageRequestParams',
  'CreateMessageResult',
  'Decision',
  'ElicitAnswer',
  'ElicitQuestion',
  'ElicitRequestFormParams',
  'ElicitRequestParams',
  'ElicitRequestUrlParams',
  'ElicitResult',
  'EmbeddedResource',
  'Era',
  'GetPromptResult',
  'Handle',
  'HttpError',
  'Icon',
  'ImageContent',
  'Implementation',
  'InputRequest',
  'InputRequiredResult',
  'InputResponse',
  'JsonRpcError',
  'JsonRpcErrorResponse',
  'JsonRpcMessage',
  'JsonRpcNotification',
  'JsonRpcRequest',
  'JsonRpcResponse',
  'JsonRpcResultResponse',
  'JsonSchema',
  'ListRootsResult',
  'ListedResource',
  'Logger',
  'LoggingLevel',
  'McpRouter',
  'McpRouterOptions',
  'McpServerOptions',
  'Meta',
  'MountStats',
  'OriginOptions',
  'Posture',
  'PrimitiveSchema',
  'ProgressToken',
  'Prompt',
  'PromptArgument',
  'PromptConfig',
  'PromptHandler',
  'PromptMessage',
  'ProtectedResourceMetadataOptions',
  'ProvidedTool',
  'ReadAuthorizer',
  'ReadQuestion',
  'ReadResourceResult',
  'RequestId',
  'RequestObserver',
  'Resource',
  'ResourceConfig',
  'ResourceContents',
  'ResourceHandler',
  'ResourceLink',
  'ResourceTemplate',
  'Role',
  'Root',
  'SamplingContent',
  'SamplingMessage',
  'Schema',
  'ServerCapabilities',
  'ServerInfo',
  'SessionEnd',
  'SessionEndReason',
  'SessionRecord',
  'SessionStore',
  'StandardSchema',
  'SubscriptionFilter',
  'TextContent',
  'TextResourceContents',
  'TokenVerifier',
  'Tool',
  'ToolAnnotations',
  'ToolConfig',
  'ToolDefinition',
  'ToolHandler',
  'ToolProvider',
  'ToolQuestion',
  'ToolResultContent',
  'ToolUseContent',
  'Transport',
  'VerifiedToken',
];

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

describe('the package', () => {
  it('exports these values, and no others', () => {
    expect(Object.keys(main).sort()).toEqual(values);
  });

  it('exports these types, and no others', () => {
    const names = exported.map(({ name }) => name).filter((name) => !(name in main));
    expect(names.sort()).toEqual(types);
  });

  it('has a subpath for each entry of lib/, and no others', () => {
    const entries = readdirSync(path.join(root, 'lib'), { recursive: true, encoding: 'utf8' })
      .filter((file) => path.basename(file) === 'index.ts')
      .map((file) => `./${path.dirname(file)}`.replace('./.', '.'));
    const { exports } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { exports: object };
    expect(Object.keys(exports).sort()).toEqual([...entries, './package.json'].sort());
    for (const [subpath, target] of Object.entries(exports)) {
      if (subpath === './package.json') continue;
      const base = path.posix.join('./dist', subpath, 'index');
      // Types first: the first condition that fits is taken.
      expect(Object.entries(target as object)).toEqual([
        ['types', `./${base}.d.ts`],
        ['default', `./${base}.js`],
      ]);
    }
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
