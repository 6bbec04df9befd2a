/** The table as Markdown, with the machine it was made on. */
import { readFileSync } from 'node:fs';
import { arch, cpus, loadavg, release, totalmem, type } from 'node:os';
import { cores } from './cores';
import { digits, Skipped, verdictOn } from './row';
import type { Measurement, Row } from './row';

/** What must be known to read the numbers. */
export function machine(): string {
  const processors = cpus();
  const pinned = cores === undefined ? 'not pinned' : `server on core ${cores.server}, load on core ${cores.load}`;
  return [
    `Node ${process.version}, Express ${versionOf('express')}, ${type()} ${release()} ${arch()}`,
    `${processors.length} × ${processors[0]?.model.trim()}, ${(totalmem() / 2 ** 30).toFixed(0)} GB`,
    `${pinned}, load average ${loadavg()[0]!.toFixed(1)}`,
  ].join('; ');
}

function versionOf(name: string): string {
  const { version } = JSON.parse(readFileSync(require.resolve(`${name}/package.json`), 'utf8')) as { version: string };
  return version;
}

const widths = [21, 46, 38, 8, 8, 16, 26, 7];

function line(cells: readonly string[]): string {
  return `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
}

export function tableHead(): string {
  const titles = ['row', 'measure', 'against', 'goal', 'measured', 'spread', 'numbers', 'verdict'];
  return `${line(titles)}\n${line(widths.map((width) => '-'.repeat(width)))}`;
}

export function tableLine(row: Row, measurement: Measurement): string {
  const { value, spread, detail } = measurement;
  const show = (amount: number) => (row.unit === 'bytes' ? `${digits(amount)} B` : amount.toFixed(2));
  return line([
    row.id,
    row.measure,
    row.against,
    row.goal === undefined ? '' : `≤ ${row.goal}${row.unit === 'bytes' ? ' B' : ''}`,
    show(value),
    `${show(spread[0])} to ${show(spread[1])}`,
    detail,
    verdictOn(row, measurement),
  ]);
}

export function failureLine(row: Row, error: unknown): string {
  const verdict = error instanceof Skipped ? 'skipped' : 'failed';
  const reason = error instanceof Skipped ? error.message : String(error).split('\n')[0]!;
  return line([row.id, row.measure, row.against, '', '', '', reason, verdict]);
}
