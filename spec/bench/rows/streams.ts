/** Rows about open streams: what one costs that does nothing, and what a message to all of them costs. */
import { EventStreams } from '../load/event-streams';
import { modernRequest, openStream } from '../load/requests';
import type { WireRequest } from '../load/requests';
import { beginSessions } from '../load/sessions';
import { digits, median, quartiles, ratio } from '../row';
import type { Row } from '../row';
import { ServerProcess, withServers } from '../server-process';

const streamCount = 1_000;
/** Messages to all streams in one round. */
const announcements = 20;
const marker = 'list_changed';

type Kind = 'get' | 'listen';
const names: Record<Kind, string> = { get: 'GET', listen: 'subscriptions/listen' };

const listenRequest = modernRequest('subscriptions/listen', { notifications: { toolsListChanged: true } });

/** A request for each stream. The sessions that they need have begun when this resolves. */
async function ourRequests(kind: Kind, port: number): Promise<WireRequest[]> {
  if (kind === 'get') return (await beginSessions(port, streamCount)).map((id) => openStream(id));
  return many(listenRequest);
}

/** The same, to the route: it looks at no session. */
function theirRequests(kind: Kind): WireRequest[] {
  return many(kind === 'get' ? openStream('none') : listenRequest);
}

function many(request: WireRequest): WireRequest[] {
  return new Array<WireRequest>(streamCount).fill(request);
}

function bothServers(): Promise<ServerProcess>[] {
  return [ServerProcess.start('express-mcp'), ServerProcess.start('express-route')];
}

function heapPerStream(kind: Kind): Row {
  return {
    id: `heap-${kind}`,
    measure: `heap per idle stream, ${names[kind]}`,
    against: 'beyond a hand-written SSE route that answers the same request',
    unit: 'bytes',
    goal: 2_048,
    async method({ repeats }) {
      const ours: number[] = [];
      const theirs: number[] = [];
      for (let repeat = 0; repeat < repeats; repeat += 1) {
        await withServers(bothServers(), async (subject, baseline) => {
          ours.push(await bytesPerStream(subject!, await ourRequests(kind, subject!.port)));
          theirs.push(await bytesPerStream(baseline!, theirRequests(kind)));
        });
      }
      const beyond = ours.map((bytes, repeat) => bytes - theirs[repeat]!);
      const detail = `${digits(median(ours))} − ${digits(median(theirs))} B`;
      return { value: median(beyond), spread: quartiles(beyond), detail };
    },
  };
}

async function bytesPerStream(server: ServerProcess, requests: readonly WireRequest[]): Promise<number> {
  // What the first streams leave behind (compiled code, buffers) is no stream's.
  (await EventStreams.open(server.port, requests.slice(0, 100))).close();
  const before = await server.ask({ what: 'heap', connections: 0 });
  const streams = await EventStreams.open(server.port, requests);
  try {
    return ((await server.ask({ what: 'heap', connections: requests.length })) - before) / requests.length;
  } finally {
    streams.close();
  }
}

function fanOut(kind: Kind): Row {
  return {
    id: `fan-out-${kind}`,
    measure: `list_changed to ${streamCount.toLocaleString('en')} streams, ${names[kind]}`,
    against: 'the same bytes in a bare loop',
    unit: 'times',
    goal: 1.3,
    async method({ rounds }) {
      return withServers(bothServers(), async (subject, baseline) => {
        const ours = await EventStreams.open(subject!.port, await ourRequests(kind, subject!.port));
        const theirs = await EventStreams.open(baseline!.port, theirRequests(kind));
        try {
          const frame = await announce(subject!, ours, '');
          const series: [number[], number[]] = [[], []];
          for (let round = -2; round < rounds; round += 1) {
            const pair = [await cpuPerMessage(subject!, ours, ''), await cpuPerMessage(baseline!, theirs, frame)];
            // The first rounds are for the compiler.
            if (round >= 0) pair.forEach((value, side) => series[side]!.push(value));
          }
          return ratio(...series, 'µs per stream');
        } finally {
          ours.close();
          theirs.close();
        }
      });
    },
  };
}

/** Announce once, and wait until it has come everywhere. @returns The bytes of one. */
async function announce(server: ServerProcess, streams: EventStreams, frame: string): Promise<string> {
  const arrived = streams.next(marker);
  await server.ask({ what: 'announce', frame });
  return arrived;
}

async function cpuPerMessage(server: ServerProcess, streams: EventStreams, frame: string): Promise<number> {
  const before = await server.ask({ what: 'cpu' });
  for (let count = 0; count < announcements; count += 1) await announce(server, streams, frame);
  return ((await server.ask({ what: 'cpu' })) - before) / (announcements * streamCount);
}

export const streamRows: readonly Row[] = [
  heapPerStream('get'),
  heapPerStream('listen'),
  fanOut('get'),
  fanOut('listen'),
];
