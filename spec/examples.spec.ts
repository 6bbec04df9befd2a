/** What all examples have in common: short, started by their first line, on this machine only, and each with a spec. */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { commandOf } from './support/example';
import { root } from './support/program';

const specs = readdirSync(path.join(root, 'spec'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.spec.ts') && file !== 'examples.spec.ts')
  .map((file) => readFileSync(path.join(root, 'spec', file), 'utf8'));
const names = readdirSync(path.join(root, 'examples')).map((file) => path.basename(file, '.ts'));

describe.each(names)('the example %s', (name) => {
  const text = readFileSync(path.join(root, 'examples', `${name}.ts`), 'utf8');

  it('is under 60 lines', () => {
    expect(text.trimEnd().split('\n').length).toBeLessThan(60);
  });

  it('is started by the command in its first line', () => {
    expect(commandOf(name)).toMatch(new RegExp(`^node -r esbuild-register examples/${name}\\.ts$`));
  });

  it('says in its second line what it shows', () => {
    expect(text.split('\n')[1]).toMatch(/^\/\*\* .+\. ?.*\*\/$/);
  });

  it('takes its port from PORT and listens on this machine only, if it listens', () => {
    const calls = text.match(/\.listen\(.*/g) ?? [];
    for (const call of calls) expect(call).toContain(", '127.0.0.1'");
    if (calls.length > 0) expect(text).toContain('PORT');
  });

  it('does not announce an Express server that could not listen', () => {
    // Express 5 calls back with the error, too.
    for (const call of text.match(/\bapp\.listen\(.*/g) ?? []) expect(call).toMatch(/, \(error\) => \{$/);
  });

  it('is run by a spec', () => {
    expect(specs.filter((spec) => spec.includes(`examples/${name}.ts`))).not.toEqual([]);
  });
});

it('has a port of its own in each example that listens', () => {
  const texts = names.map((name) => readFileSync(path.join(root, 'examples', `${name}.ts`), 'utf8'));
  const ports = texts
    .filter((text) => text.includes('.listen('))
    .map((text) => /PORT (?:\?\?|=) '?(\d+)/.exec(text)?.[1]);
  expect(ports).not.toContain(undefined);
  expect(new Set(ports).size).toBe(ports.length);
});
