/** Reads the profiles that `--profile` makes Node write: which functions the time went to. */
import { readFileSync } from 'node:fs';

/** What is used of a `.cpuprofile`. */
interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  timeDeltas: number[];
}

const shown = 25;

/** The functions with the most time of their own, as shares of the time in which JavaScript ran. */
export function summarize(file: string): string {
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(file, 'utf8')) as CpuProfile;
  const places = new Map(nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]));
  const own = new Map<string, number>();
  let total = 0;
  samples.forEach((id, index) => {
    const place = places.get(id)!;
    if (place === '(idle)' || place === '(program)') return;
    own.set(place, (own.get(place) ?? 0) + timeDeltas[index]!);
    total += timeDeltas[index]!;
  });
  const ranked = [...own].sort(([, a], [, b]) => b - a);
  const ours = ranked.filter(([place]) => place.includes('  dist/'));
  const share = (time: number) => `${((100 * time) / total).toFixed(1).padStart(5)} %`;
  const table = (entries: typeof ranked) => entries.slice(0, shown).map(([place, time]) => `${share(time)}  ${place}`);
  const together = share(ours.reduce((sum, [, time]) => sum + time, 0)).trim();
  return ['All:', ...table(ranked), '', `dist/, together ${together}:`, ...table(ours)].join('\n');
}

function placeOf({ functionName, url, lineNumber }: CpuProfile['nodes'][number]['callFrame']): string {
  if (url === '') return functionName;
  const path = url.replace(/^.*\/(?=node_modules\/)|^.*?\/(?=dist\/|\.cache\/)/, '');
  return `${functionName || '(anonymous)'}  ${path}:${lineNumber + 1}`;
}
