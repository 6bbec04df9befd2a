/** The table of layers, and that every import in `lib/` keeps to it. */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

const lib = path.join(__dirname, '../lib');

/**
 * What each part of `lib/` may import from `lib/`, besides itself. From the bottom up: imports go down only. A part is a
 * folder, or a file at the top of `lib/`.
 */
const layers: Record<string, readonly string[]> = (() => {
  const pure = ['protocol', 'request-state'];
  const declared = [
    ...pure,
    'sessions',
    'settings',
    'declarations',
    'declaration-keys',
    'registry',
    'context',
    'caller',
    'call-context',
    'core',
    'quietly',
    'request-meta',
  ];
  const authorizer = [...declared, 'authorizer'];
  const methods = [...authorizer, 'methods'];
  const dispatcher = [...methods, 'dispatcher'];
  const server = [...dispatcher, 'connections', 'create-core', 'server'];
  const http = [...server, 'http'];
  const doors = [...http, 'router', 'index'];
  return {
    protocol: [],
    'request-state': ['protocol'],
    sessions: ['protocol'],
    settings: declared,
    declarations: declared,
    'declaration-keys': declared,
    registry: declared,
    context: declared,
    caller: declared,
    'call-context': declared,
    core: declared,
    quietly: ['protocol'],
    'request-meta': declared,
    authorizer,
    methods,
    dispatcher,
    connections: dispatcher,
    'create-core': dispatcher,
    server,
    http,
    router: http,
    index: doors,
    // Subpaths of the package, each an entry of its own: nothing above them but their users.
    redis: doors,
    stdio: doors,
    testing: doors,
    opentelemetry: doors,
  };
})();

/**
 * Where a type is named from below the part that gives it its meaning: what a server and a call are made of includes
 * what the authorizer keeps in them. Types only; nothing of it is there at run time.
 */
const namedFromBelow = ['call-context.ts > authorizer', 'core.ts > authorizer'];

/** Where each outside package may be imported, types included. Packages not listed may be imported anywhere. */
const confined: Record<string, readonly string[]> = {
  express: ['router.ts'],
  connect: [],
};

const networkModules = new Set([
  'node:http',
  'node:https',
  'node:http2',
  'node:net',
  'node:tls',
  'http',
  'https',
  'net',
]);
const partsWithNetwork = new Set(['http', 'router', 'index', 'redis', 'stdio', 'testing', 'opentelemetry']);

interface Import {
  file: string;
  specifier: string;
  typeOnly: boolean;
}

const files = readdirSync(lib, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.split(path.sep).join('/'))
  .sort();
const imports = files.flatMap(importsOf);

function importsOf(file: string): Import[] {
  const source = ts.createSourceFile(file, readFileSync(path.join(lib, file), 'utf8'), ts.ScriptTarget.Latest, true);
  const found: Import[] = [];
  const add = (specifier: ts.Node | undefined, typeOnly: boolean) => {
    if (specifier && ts.isStringLiteralLike(specifier)) found.push({ file, specifier: specifier.text, typeOnly });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) {
      add(node.moduleSpecifier, node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword);
    }
    if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, node.isTypeOnly);
    if (ts.isImportEqualsDeclaration(node) && ts.isExternalModuleReference(node.moduleReference)) {
      add(node.moduleReference.expression, node.isTypeOnly);
    }
    if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) add(node.argument.literal, true);
    if (
      ts.isCallExpression(node) &&
      (node.expression.kind === ts.SyntaxKind.ImportKeyword || node.expression.getText() === 'require')
    ) {
      add(node.arguments[0], false);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** `protocol/types.ts` is of `protocol`; `server.ts` is `server`. */
function partOf(file: string): string {
  return (file.split('/')[0] ?? file).replace(/\.ts$/, '');
}

/** The file of `lib/` that a relative import means. */
function targetOf({ file, specifier }: Import): string | undefined {
  if (!specifier.startsWith('.')) return undefined;
  const target = path.posix.join(path.posix.dirname(file), specifier);
  return [`${target}.ts`, `${target}/index.ts`].find((candidate) => files.includes(candidate)) ?? target;
}

function describeImport({ file, specifier }: Import): string {
  return `${file} imports ${specifier}`;
}

describe('the layers of lib/', () => {
  it('are all in the table', () => {
    expect(files.length).toBeGreaterThan(0);
    expect([...new Set(files.map(partOf))].filter((part) => !(part in layers))).toEqual([]);
  });

  it('import downwards only', () => {
    const upward = imports.filter((one) => {
      const target = targetOf(one);
      if (target === undefined || partOf(target) === partOf(one.file)) return false;
      if (one.typeOnly && namedFromBelow.includes(`${one.file} > ${partOf(target)}`)) return false;
      return !layers[partOf(one.file)]?.includes(partOf(target));
    });
    expect(upward.map(describeImport)).toEqual([]);
  });

  it('name the module they import, not a folder or an extension', () => {
    const relative = imports.filter(({ specifier }) => specifier.startsWith('.'));
    const astray = relative.filter(
      (one) => !files.includes(targetOf(one) ?? '') || /\.[jt]s$|\/index$/.test(one.specifier),
    );
    expect(astray.map(describeImport)).toEqual([]);
  });

  it('never import in a circle at run time', () => {
    const graph = new Map<string, string[]>();
    for (const one of imports) {
      const target = one.typeOnly ? undefined : targetOf(one);
      if (target !== undefined) graph.set(one.file, [...(graph.get(one.file) ?? []), target]);
    }
    const circles: string[] = [];
    const done = new Set<string>();
    const walk = (file: string, road: readonly string[]): void => {
      if (road.includes(file)) {
        circles.push([...road.slice(road.indexOf(file)), file].join(' > '));
        return;
      }
      if (done.has(file)) return;
      for (const target of graph.get(file) ?? []) walk(target, [...road, file]);
      done.add(file);
    };
    for (const file of files) walk(file, []);
    expect(circles).toEqual([]);
  });

  it('know Express in the router alone, types included', () => {
    const astray = imports.filter(({ file, specifier }) => {
      const name = /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;
      return confined[name] !== undefined && !confined[name].includes(file);
    });
    expect(astray.map(describeImport)).toEqual([]);
  });

  it('know no HTTP or socket below http/', () => {
    // `context.ts` hands the author the request it came with, by type: that much it may know.
    const astray = imports.filter(
      (one) =>
        networkModules.has(one.specifier) &&
        !partsWithNetwork.has(partOf(one.file)) &&
        !(one.file === 'context.ts' && one.typeOnly),
    );
    expect(astray.map(describeImport)).toEqual([]);
  });

  it('keep no index.ts below a package entry, and no drawer of odds and ends', () => {
    const entries = ['index.ts', 'redis/index.ts', 'stdio/index.ts', 'testing/index.ts', 'opentelemetry/index.ts'];
    expect(files.filter((file) => /(^|\/)index\.ts$/.test(file) && !entries.includes(file))).toEqual([]);
    expect(files.filter((file) => /(^|\/)(utils?|helpers?|common)\b/.test(file))).toEqual([]);
  });
});

describe('each file of lib/', () => {
  it('says in its first line what it is for', () => {
    const silent = files.filter(
      (file) => !/^\/\*\*\s*\S|^\/\*\*\n \* \S/.test(readFileSync(path.join(lib, file), 'utf8')),
    );
    expect(silent).toEqual([]);
  });
});
