// Checks the package as its users get it: packed, installed from the tarball, loaded, used and type-checked.
// `npm run check:package`; prints one line a check, and what a failed one printed.
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';

const maxTarballBytes = 300_000;
const maxDependencies = 6;
const resolutions = ['node16', 'nodenext', 'bundler'];

const require = createRequire(import.meta.url);
const root = fileURLToPath(new URL('..', import.meta.url));
const manifest = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));
const work = await mkdtemp(path.join(tmpdir(), 'express-mcp-package-'));
const consumer = path.join(work, 'consumer');
let passed = 0;
let failed = 0;

/** Run one check; a failure is printed, counted, and does not stop the others. */
async function check(name, run) {
  const start = performance.now();
  try {
    await run();
    passed += 1;
    console.log(`ok    ${name} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}\n${[error.stdout, error.stderr].filter(Boolean).join('\n') || error.message}`);
  }
}

function expect(condition, message) {
  if (!condition) throw new Error(message);
}

// Out of the environment that `npm run` makes, so that the installation below is its own.
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^npm_(package|lifecycle|config_local)/.test(name)),
);

function run(command, args, cwd = consumer) {
  return promisify(execFile)(command, args, { cwd, env, maxBuffer: 32 * 1024 * 1024 });
}

const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
const packageFile = (name, file) => path.join(path.dirname(require.resolve(`${name}/package.json`)), file);

/** `name@version` of what this checkout has installed: already in npm's cache. */
async function asInstalled(name) {
  const { version } = JSON.parse(await readFile(path.join(root, 'node_modules', name, 'package.json'), 'utf8'));
  return `${name}@${version}`;
}

async function pack() {
  await run(npm, ['pack', '--pack-destination', work], root); // builds first: `prepack`
  const name = (await readdir(work)).find((file) => file.endsWith('.tgz'));
  return path.join(work, name);
}

async function checkContents(tarball) {
  const { stdout } = await run('tar', ['-tzf', tarball], work);
  const files = stdout.trim().split('\n');
  const wanted = ['package/LICENSE', 'package/README.md', 'package/CHANGELOG.md', 'package/dist/index.d.ts'];
  for (const file of wanted) expect(files.includes(file), `${file} is not in the tarball`);
  const astray = files.filter(
    (file) =>
      !wanted.includes(file) &&
      !/^package\/(package\.json|dist\/.+\.(js|d\.ts)|docs\/[^/]+\.md|examples\/[^/]+\.ts)$/.test(file),
  );
  expect(astray.length === 0, `these do not belong in the tarball: ${astray.join(', ')}`);
  // Who reads the pages in node_modules follows their links there.
  const dead = [];
  for (const page of files.filter((file) => file.endsWith('.md')).map((file) => path.posix.relative('package', file))) {
    const text = await readFile(path.join(root, page), 'utf8');
    for (const [, target] of text.matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)/g)) {
      const file = path.posix.join('package', path.posix.dirname(page), target);
      if (!files.includes(file)) dead.push(`${page} links to ${target}`);
    }
  }
  expect(dead.length === 0, `these links lead nowhere in the tarball: ${dead.join(', ')}`);
}

async function checkDependencies() {
  const names = Object.keys(manifest.dependencies);
  expect(names.length <= maxDependencies, `${names.length} runtime dependencies, at most ${maxDependencies}`);
  const design = await readFile(path.join(root, 'docs/design.md'), 'utf8');
  const unnamed = [...names, ...Object.keys(manifest.peerDependencies)].filter(
    (name) => !design.includes(`\`${name}\``),
  );
  expect(unnamed.length === 0, `docs/design.md does not name ${unnamed.join(', ')}`);
}

async function checkLockFile() {
  const lock = JSON.parse(await readFile(path.join(root, 'package-lock.json'), 'utf8'));
  const located = Object.keys(lock.packages).filter((name) => lock.packages[name].resolved?.includes('://'));
  expect(located.length === 0, `package-lock.json names a registry host for ${located.slice(0, 5).join(', ')}`);
}

async function checkPublint(tarball) {
  const bytes = await readFile(tarball);
  const archive = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  const { messages, pkg } = await publint({ pack: { tarball: archive }, strict: true });
  expect(messages.length === 0, messages.map((message) => formatMessage(message, pkg)).join('\n'));
}

function checkAttw(tarball) {
  const cli = packageFile('@arethetypeswrong/cli', 'dist/index.js');
  return run(process.execPath, [cli, tarball, '--profile', 'node16'], root);
}

async function checkUse() {
  await check('an ESM project uses it', () => run(process.execPath, ['use.mjs'], path.join(consumer, 'esm')));
  await check('a CommonJS project uses it', () => run(process.execPath, ['use.cjs'], path.join(consumer, 'cjs')));
  await check('a CommonJS Jest project with ts-jest uses it', () =>
    run(process.execPath, ['../node_modules/jest/bin/jest.js', '--ci'], path.join(consumer, 'jest')),
  );
}

async function checkTypes() {
  for (const resolution of resolutions) {
    await check(`types in module resolution ${resolution}`, () =>
      run(process.execPath, ['../node_modules/typescript/bin/tsc', '-p', '.'], path.join(consumer, resolution)),
    );
  }
}

/** One installation for every consumer: the folders below it have the module systems they need. */
async function install(tarball) {
  await mkdir(consumer);
  await writeFile(path.join(consumer, 'package.json'), JSON.stringify({ name: 'consumer', private: true }));
  const peers = Object.keys(manifest.peerDependencies);
  const tools = ['zod', 'typescript', 'jest', 'ts-jest', '@types/express', '@types/jest', '@types/node'];
  const versions = await Promise.all([...peers, ...tools].map(asInstalled));
  await run(npm, ['install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error', tarball, ...versions]);
  const sources = path.join(root, '.ci/consumers');
  for (const [folder, type, files] of [
    ['esm', 'module', ['use.mjs', 'modern-call.cjs']],
    ['cjs', 'commonjs', ['use.cjs', 'modern-call.cjs']],
    ['jest', 'commonjs', ['use.test.ts', 'modern-call.cjs']],
  ]) {
    await mkdir(path.join(consumer, folder));
    await writeFile(path.join(consumer, folder, 'package.json'), JSON.stringify({ name: folder, private: true, type }));
    for (const file of files) await cp(path.join(sources, file), path.join(consumer, folder, file));
  }
  await writeTsconfig('jest', { module: 'node16', allowJs: true, types: ['node', 'jest'] }, ['use.test.ts']);
  await writeFile(
    path.join(consumer, 'jest/jest.config.js'),
    `module.exports = { testEnvironment: 'node', transform: { '^.+\\\\.ts$': 'ts-jest' } };`,
  );
  for (const resolution of resolutions) {
    await mkdir(path.join(consumer, resolution));
    const files = ['types.cts', 'types.mts'];
    for (const file of files) await cp(path.join(sources, 'types.ts'), path.join(consumer, resolution, file));
    const module = resolution === 'bundler' ? 'preserve' : resolution;
    await writeTsconfig(resolution, { module, moduleResolution: resolution, types: ['node'] }, files);
  }
}

async function writeTsconfig(folder, options, files) {
  const compilerOptions = { target: 'ES2022', strict: true, skipLibCheck: false, noEmit: true, esModuleInterop: true };
  await writeFile(
    path.join(consumer, folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: { ...compilerOptions, ...options }, files }),
  );
}

/** `any` in a declaration that we wrote: what a user would lose types over. */
async function checkDeclarations() {
  const { default: ts } = await import('typescript');
  const dist = path.join(root, 'dist');
  const found = [];
  for (const file of await readdir(dist, { recursive: true })) {
    if (!file.endsWith('.d.ts')) continue;
    const source = ts.createSourceFile(
      file,
      await readFile(path.join(dist, file), 'utf8'),
      ts.ScriptTarget.Latest,
      true,
    );
    const visit = (node) => {
      if (node.kind === ts.SyntaxKind.AnyKeyword) found.push(`${file}: ${node.parent.getText().slice(0, 120)}`);
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  expect(found.length === 0, `any in declarations:\n${found.join('\n')}`);
}

async function main() {
  let tarball;
  await check('npm pack', async () => (tarball = await pack()));
  if (tarball === undefined) return;
  await check(`the tarball is under ${maxTarballBytes / 1000} kB`, async () => {
    const { size } = await stat(tarball);
    expect(size < maxTarballBytes, `${size} bytes`);
  });
  await check('the tarball holds the build, the docs with what they link to, and nothing else', () =>
    checkContents(tarball),
  );
  await check(
    `at most ${maxDependencies} runtime dependencies, each with its reason in docs/design.md`,
    checkDependencies,
  );
  await check('the lock file names no registry host', checkLockFile);
  await check('no any in the declarations', checkDeclarations);
  let installed = false;
  // Two at a time from here on, by what they wait for.
  await Promise.all([
    check('npm install of the tarball', async () => {
      await install(tarball);
      installed = true;
    }),
    check('publint', () => checkPublint(tarball)).then(() => check('are the types wrong?', () => checkAttw(tarball))),
  ]);
  if (installed) await Promise.all([checkUse(), checkTypes()]);
}

try {
  await main();
} finally {
  await rm(work, { recursive: true, force: true });
}
console.log(`package: ${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
