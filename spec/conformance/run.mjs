/**
 * Runs the official conformance suite against spec/conformance/server.ts, as one process and as three that share a Redis
 * behind a round-robin: `npm run conformance`. Without `redis-server` on the PATH the latter are skipped, never in CI.
 *
 * The suite and the Node that it needs are installed outside the project, where no script of ours picks them up. Every
 * check of every scenario counts, scored or not, and a warning is a failure; the exit code of the suite says less.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

const suiteVersion = '0.2.0-alpha.12';
const nodeVersion = '24';

const requirements = [
  { name: 'requirements of 2025-11-25', args: ['--requirements', '2025-11-25'], scenarios: 33 },
  { name: 'requirements of 2026-07-28', args: ['--requirements', '2026-07-28'], scenarios: 40 },
];

/** What is run, on which mount, and how many scenarios that is: one that crashes leaves no checks behind. */
const runs = [
  ...requirements.map((run) => ({ ...run, mount: '/mcp' })),
  {
    name: 'all for 2025-06-18',
    args: ['--suite', 'all', '--spec-version', '2025-06-18'],
    scenarios: 27,
    mount: '/mcp',
  },
  ...requirements.map((run) => ({ ...run, name: `${run.name}, stream: always`, mount: '/streams' })),
];

/** What the suite is run against. */
const targets = [
  { name: 'one node', file: 'server.ts' },
  { name: 'three nodes', file: 'nodes.ts', needsRedis: true },
];

/** Scenarios of an extension that this package does not have. */
const isLeftOut = (scenario) => scenario.startsWith('tasks-');

const root = path.join(import.meta.dirname, '../..');
const prefix = process.env.EXPRESS_MCP_CI_DIR ?? path.join(tmpdir(), 'express-mcp-ci');

/** Install one package under a prefix of its own, unless `file` of it is there already. */
function install(folder, name, version, file) {
  const home = path.join(prefix, folder);
  const installed = path.join(home, 'node_modules', name, file);
  if (!existsSync(installed)) {
    mkdirSync(home, { recursive: true });
    const flags = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
    execFileSync('npm', ['install', '--prefix', home, ...flags, `${name}@${version}`], { stdio: 'inherit' });
  }
  return installed;
}

/** Start a target; gives its URL and how to stop it. */
async function startTarget(name) {
  const file = path.join(root, 'spec/conformance', name);
  const child = spawn(process.execPath, ['-r', 'esbuild-register', file], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit').then(([code]) => {
    throw new Error(`${name} has ended with ${code}`);
  });
  // Heard of only while something waits for it.
  exited.catch(() => undefined);
  const [url] = await Promise.race([once(createInterface(child.stdout), 'line'), exited]);
  const stop = async () => {
    child.kill();
    await exited.catch(() => undefined);
  };
  return { url, stop };
}

/** Run the suite once; gives its output and every check, with the scenario it belongs to. */
async function runSuite(node, suite, url, args) {
  const out = mkdtempSync(path.join(tmpdir(), 'conformance-'));
  try {
    const child = spawn(node, [suite, 'server', '--url', url, '-o', out, ...args], {
      cwd: out,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output += text));
    const [code] = await once(child, 'close');
    const scenarios = new Map();
    for (const folder of readdirSync(out)) {
      const [, scenario] = /^server-(.+)-\d{4}-\d\d-\d\dT/.exec(folder) ?? [];
      const file = path.join(out, folder, 'checks.json');
      if (scenario !== undefined && existsSync(file)) scenarios.set(scenario, JSON.parse(readFileSync(file, 'utf8')));
    }
    return { code, output, scenarios };
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

const reasonOf = ({ errorMessage, details, description }) =>
  errorMessage ?? details?.reason ?? details?.message ?? description;

/** Print what came of one run. @returns How many checks passed and failed. */
function report({ name, scenarios: expected }, { code, output, scenarios }) {
  const leftOut = [...scenarios.keys()].filter(isLeftOut);
  const counted = [...scenarios].filter(([scenario]) => !isLeftOut(scenario));
  const checks = counted.flatMap(([scenario, own]) => own.map((check) => ({ scenario, ...check })));
  const passed = checks.filter(({ status }) => status === 'SUCCESS').length;
  const skipped = checks.filter(({ status }) => status === 'SKIPPED');
  const failures = checks.filter(({ status }) => !['SUCCESS', 'INFO', 'SKIPPED'].includes(status));
  const faults = failures.map((check) => `${check.status} ${check.scenario}, ${check.id}: ${reasonOf(check)}`);
  if (counted.length !== expected) faults.push(`${counted.length} scenarios left checks, expected ${expected}`);
  if (code !== 0) faults.push(`The suite ended with ${code}`);

  const also = leftOut.length > 0 ? `, ${leftOut.length} of tasks-* left out` : '';
  console.log(`${name}: ${counted.length} scenarios${also}; ${passed} checks passed, ${faults.length} failed`);
  for (const check of skipped) console.log(`  SKIPPED ${check.scenario}, ${check.id}: ${reasonOf(check)}`);
  for (const fault of faults) console.log(`  ${fault}`);
  if (counted.length !== expected || code !== 0) console.log(output);
  return { passed, failed: faults.length };
}

const platform = `node-${process.platform}-${process.arch}`;
const node = install(
  `node-${nodeVersion}`,
  platform,
  nodeVersion,
  process.platform === 'win32' ? 'bin/node.exe' : 'bin/node',
);
const suite = install(
  `conformance-${suiteVersion}`,
  '@modelcontextprotocol/conformance',
  suiteVersion,
  'dist/index.js',
);
const hasRedis = spawnSync('redis-server', ['--version']).status === 0;
const total = { passed: 0, failed: 0 };
const count = ({ passed, failed }) => {
  total.passed += passed;
  total.failed += failed;
};
for (const { name, file, needsRedis } of targets) {
  if (needsRedis && !hasRedis) {
    const isCi = process.env.CI === 'true';
    console.log(`${name}: ${isCi ? 'FAILED' : 'SKIPPED'}, redis-server is not on the PATH`);
    if (isCi) count({ passed: 0, failed: runs.length });
    continue;
  }
  const target = await startTarget(file);
  try {
    for (const run of runs) {
      const outcome = await runSuite(node, suite, `${target.url}${run.mount}`, run.args);
      count(report({ ...run, name: `${name}, ${run.name}` }, outcome));
    }
  } finally {
    await target.stop();
  }
}
const line = `${total.passed} passed, ${total.failed} failed`;
console.log(line);
if (process.env.CI_COUNTS) appendFileSync(process.env.CI_COUNTS, `${line}\n`);
process.exitCode = total.failed > 0 ? 1 : 0;
