// Reads reports of `jest --json`: `failed REPORT` lists the files that failed; `counts REPORT [AGAIN]` says how many specs
// passed and failed, where those of files that ran again count as they did the second time.
import { readFileSync } from 'node:fs';

const [, , command, ...paths] = process.argv;
const [report, again] = paths.map((path) => {
  const text = readFileSync(path, 'utf8');
  return text === '' ? undefined : JSON.parse(text).testResults;
});

const failed = (file) => file.status === 'failed';

if (command === 'failed') {
  for (const file of (report ?? []).filter(failed)) console.log(file.name);
} else {
  const rerun = new Set((again ?? []).map(({ name }) => name));
  const files = [...(report ?? []).filter(({ name }) => !rerun.has(name)), ...(again ?? [])];
  const specs = files.flatMap(({ assertionResults }) => assertionResults);
  const count = (status) => specs.filter((spec) => spec.status === status).length;
  // A file that could not run has no specs of its own to count.
  const broken = files.filter(
    (file) => failed(file) && !file.assertionResults.some(({ status }) => status === 'failed'),
  );
  console.log(`${count('passed')} passed, ${count('failed') + broken.length} failed`);
}
