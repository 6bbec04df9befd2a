/** The specs of sessions and streams over HTTP once more, through a round-robin of three nodes that share a Redis. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rerun } from '../support/rerun';
import { apart, callSuites, streamSuites } from './suites';

const root = join(__dirname, '..');
const folders = ['.', 'authorizer', 'clients', 'http', 'methods', 'protocol', 'robustness'];

it('every suite that opens sessions over HTTP runs through three nodes, or it is said why not', () => {
  const files = folders.flatMap((folder) => readdirSync(join(root, folder)).map((name) => join(folder, name)));
  const suites = files.filter((file) => {
    if (!file.endsWith('.spec.ts')) return false;
    return /legacySession\(|clients\/connect'/.test(readFileSync(join(root, file), 'utf8'));
  });
  const named = new Set([streamSuites, callSuites, apart].flatMap(Object.keys));
  expect(suites.map((file) => file.replace('.spec.ts', '')).filter((suite) => !named.has(suite))).toEqual([]);
});

rerun(streamSuites);
