// npm run soak
/**
 * Many clients against one server for `SOAK_SECONDS`, then: is the server as it was, and was every call answered once, or
 * its client told why? Exits with 1 where not.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createTally, live } from './client';
import type { Tally } from './client';
import type { Condition } from './server';
import { startServer } from './server-process';
import type { SoakedServer } from './server-process';

const soakMs = Number(process.env.SOAK_SECONDS ?? 600) * 1_000;
const clientCount = Number(process.env.SOAK_CLIENTS ?? 500);
/** How much larger the heap may be than after the first round: the rest of what is compiled and cached on first use. */
const maxHeapRatio = 1.25;
/** Longest wait for the last session to end by idleness. */
const settleMs = 60_000;

/** Sessions, streams and calls are over, and the sockets gone. */
async function settled(server: SoakedServer): Promise<Condition> {
  const giveUpAt = Date.now() + settleMs;
  for (;;) {
    const condition = await server.condition();
    const { sessions, streams, calls, parked, inbox } = condition.stats;
    const sockets = condition.handles['TCPSocketWrap'] ?? 0;
    if (sessions + streams + calls + parked + inbox + sockets === 0 || Date.now() > giveUpAt) return condition;
    await delay(250);
  }
}

/** Every client lives again and again until the time is over. */
async function run(port: number, untilMs: number, tally: Tally): Promise<void> {
  const url = `http://127.0.0.1:${port}/`;
  const lives = Array.from({ length: clientCount }, async (_, index) => {
    const client = { url, name: `client-${index % 100}`, tally };
    do {
      await delay(Math.random() * 6_000);
      try {
        await live(client);
      } catch (error) {
        tally.faults.push(String(error));
      }
    } while (Date.now() < untilMs);
  });
  await Promise.all(lives);
}

/** What is not as it should be. */
function faultsOf(start: Condition, end: Condition, tally: Tally): string[] {
  const { answered, told, abandoned, sent } = tally;
  const faults = [...tally.faults, ...end.errors.map((error) => `onError: ${error}`)];
  const ratio = end.heapBytes / start.heapBytes;
  if (ratio > maxHeapRatio) faults.push(`The heap is ${ratio.toFixed(2)} times what it was, more than ${maxHeapRatio}`);
  for (const [kind, count] of Object.entries(end.handles))
    if (count > (start.handles[kind] ?? 0)) faults.push(`${count} ${kind}, ${start.handles[kind] ?? 0} at the start`);
  for (const kind of ['sessions', 'streams', 'calls', 'parked', 'inbox'] as const)
    if (end.stats[kind] !== 0) faults.push(`${end.stats[kind]} ${kind} are left`);
  if (answered + told + abandoned !== sent)
    faults.push(`Of ${sent} calls ${answered} were answered, ${told} refused and ${abandoned} abandoned`);
  if (end.ran > sent) faults.push(`${end.ran} calls ran, and only ${sent} were sent`);
  if (answered <= told) faults.push(`Only ${answered} calls were answered, and ${told} refused`);
  return faults;
}

async function main(): Promise<void> {
  const server = await startServer();
  const tally = createTally();
  // One life for each: what is made on first use is there.
  await run(server.port, 0, tally);
  const start = await settled(server);
  console.log(`start: ${describe(start)}`);
  await run(server.port, Date.now() + soakMs, tally);
  const end = await settled(server);
  console.log(`end:   ${describe(end)}`);
  const { faults, ...counts } = tally;
  console.log(`calls: ${JSON.stringify(counts)}, ${end.ran} ran`);
  console.log(`ended: ${JSON.stringify(end.stats.sessionsEnded)}, answers: ${JSON.stringify(end.stats.requests)}`);
  const found = faultsOf(start, end, { ...counts, faults });
  const counted = new Map<string, number>();
  for (const fault of found) counted.set(fault, (counted.get(fault) ?? 0) + 1);
  for (const [fault, count] of [...counted].slice(0, 50)) console.error(`fault, ${count} times: ${fault}`);
  console.log(found.length === 0 ? 'As it was.' : `${found.length} faults.`);
  await server.kill();
  process.exitCode = found.length === 0 ? 0 : 1;
}

function describe({ heapBytes, handles }: Condition): string {
  return `${(heapBytes / 1024 / 1024).toFixed(1)} MiB, ${JSON.stringify(handles)}`;
}

void main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
