/**
 * `npm run bench [-- [--quick] [--profile] [row…]]`: measures, and prints the table of goals.
 *
 * A row is named in full or by its beginning. `--quick` takes a few minutes; `--profile` also says which functions the
 * time went to. Ends with 1 when a row is worse than its goal by half, or could not be measured, three times.
 */
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { measureContenders } from './contenders';
import type { Results } from './contenders';
import { pinLoad } from './cores';
import { summarize } from './profile';
import { failureLine, machine, tableHead, tableLine } from './report';
import { full, quick, ratio, Skipped, verdictOn } from './row';
import type { Measurement, Row } from './row';
import { rows } from './rows';

const { values: options, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean' }, profile: { type: 'boolean' } },
});
const budget = options.quick ? quick : full;
const profiles = join(__dirname, 'profiles');

async function measure({ method }: Row, results: Results): Promise<Measurement> {
  if (typeof method === 'function') return method(budget);
  const [subject, baseline] = method.map((contender) => {
    const result = results.get(contender)!;
    if (result instanceof Error) throw result;
    return result;
  });
  return ratio(subject!, baseline!, 'µs');
}

/** @returns The rows that failed: worse than their goal by half, or not to be measured. */
async function report(selected: readonly Row[], into?: string): Promise<Row[]> {
  const contenders = selected.flatMap(({ method }) => (typeof method === 'function' ? [] : method));
  const results = await measureContenders(new Set(contenders), budget, into);
  const failed: Row[] = [];
  for (const row of selected) {
    try {
      const measurement = await measure(row, results);
      console.log(tableLine(row, measurement));
      if (verdictOn(row, measurement) === 'failed') failed.push(row);
    } catch (error) {
      console.log(failureLine(row, error));
      if (error instanceof Skipped) continue;
      console.error(error);
      failed.push(row);
    }
  }
  return failed;
}

async function main(): Promise<void> {
  const unknown = wanted.filter((name) => !rows.some(({ id }) => id.startsWith(name)));
  if (unknown.length > 0) {
    console.error(`No such row: ${unknown.join(', ')}. There are: ${rows.map(({ id }) => id).join(', ')}`);
    process.exit(2);
  }
  const selected = rows.filter(({ id }) => wanted.length === 0 || wanted.some((name) => id.startsWith(name)));
  pinLoad();
  console.log(`${machine()}\n\n${tableHead()}`);
  rmSync(profiles, { recursive: true, force: true });
  mkdirSync(profiles);
  let failed = await report(selected, options.profile ? profiles : undefined);
  // Whatever else the machine did meanwhile: a row that is bad is bad every time.
  for (let again = 0; failed.length > 0 && again < 2; again += 1) {
    console.log(`\nOnce more, by themselves:\n\n${tableHead()}`);
    failed = await report(failed);
  }
  if (failed.length > 0) process.exitCode = 1;
  if (!options.profile) return;
  for (const file of readdirSync(profiles)) console.log(`\n${file}\n${summarize(join(profiles, file))}`);
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
void main();
