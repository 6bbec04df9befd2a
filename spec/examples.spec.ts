/** What all examples have in common: short, started by their first line, on this machine only, and each with a spec. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { commandOf } from './support/example';
import { root } from './support/program';

const names = readdirSync(path.join(root, 'examples')).map((file) => path.basename(file, '.ts'));

describe.each(names)('the example %s', (name) => {
  const text = readFileSync(path.join(root, 'examples', `${name}.ts`), 'utf8');

  it('is under 60 lines', () => {
    expect(text.trimEnd().split('\n').length).toBeLessThan(60);
  });

  it('is started by the command in its first line', () => {
    expect(commandOf(name)).toMatch(new RegExp(`^(npm run build && )?node -r esbuild-register examples/${name}\\.ts$`));
  });

  it('says in its second line what it shows', () => {
    expect(text.split('\n')[1]).toMatch(/^\/\*\* .+\. ?.*\*\/$/);
  });

  it('takes its port from PORT and listens on this machine only', () => {
    expect(text).toContain('PORT');
    const calls = text.match(/\.listen\(.*/g) ?? [];
    for (const call of calls) expect(call).toContain(", '127.0.0.1'");
  });

  it('is run by a spec', () => {
    expect(existsSync(path.join(root, 'spec/examples', `${name}.spec.ts`))).toBe(true);
  });
});
