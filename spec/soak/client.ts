/** One of the many: connects, calls, stalls, drops, resumes, and mostly never says goodbye. Counts what became of its calls. */
import { setTimeout as delay } from 'node:timers/promises';
import { openStalled } from '../support/stalled';
import { latestLegacy, legacyRevisions } from '../support/schema';
import { legacySession, modern } from '../support/wire';
import type { LegacySession, Message, Reply, Stream } from '../support/wire';

/** What became of the calls of all clients. Each call ends in one of the first three. */
export interface Tally {
  answered: number;
  /** Refused, failed or forgotten, and said to be. */
  told: number;
  /** The client went away and did not come back. */
  abandoned: number;
  sent: number;
  sessions: number;
  /** What must not happen, in words. */
  faults: string[];
}

export function createTally(): Tally {
  return { answered: 0, told: 0, abandoned: 0, sent: 0, sessions: 0, faults: [] };
}

/** Longest wait for an answer. */
const patienceMs = 30_000;

export interface SoakClient {
  url: string;
  /** Whose limits it counts for. */
  name: string;
  tally: Tally;
}

/** Open one session, or be modern, and do a few things. */
export async function live(client: SoakClient): Promise<void> {
  const { url, name, tally } = client;
  const headers = { 'X-Client': name };
  tally.sessions += 1;
  if (chance(0.3)) {
    for (let left = 3; left > 0; left -= 1) await pick(modernDeeds)({ ...client, headers });
    return;
  }
  const revision = chance(0.6) ? latestLegacy : legacyRevisions[Math.floor(Math.random() * 4)]!;
  let session: LegacySession;
  try {
    session = await legacySession({ url }, { revision, headers, capabilities: { elicitation: {} } });
  } catch (error) {
    // At a cap, or so late that the session was given up: the client has been told.
    if (!/answered (404|429|503)/.test(String(error))) throw error;
    return;
  }
  const standing = chance(0.3) ? await session.get() : undefined;
  for (let left = 3; left > 0; left -= 1) {
    await pick(legacyDeeds)(session, tally, url);
    await delay(Math.random() * 2_000);
  }
  standing?.close();
  if (chance(0.1)) await session.delete();
}

/** A call begun: its text comes back once. */
function begin(tally: Tally): string {
  tally.sent += 1;
  return `call ${tally.sent}`;
}

function args(name: string, text: string, progressToken?: number) {
  return { name, arguments: { text }, ...(progressToken === undefined ? {} : { _meta: { progressToken } }) };
}

/** Judge the responses that came to one call; there has to be one, and it has to be its own. */
function judge(tally: Tally, text: string, responses: readonly Message[], status: number): void {
  if (responses.length !== 1) {
    tally.faults.push(`${text}: ${responses.length} answers, status ${status}`);
  } else if (responses[0]!.error !== undefined) tally.told += 1;
  else if (JSON.stringify(responses[0]!.result).includes(`"${text}"`)) tally.answered += 1;
  // A tool that was told to stop says so.
  else if (responses[0]!.result?.isError === true) tally.told += 1;
  else tally.faults.push(`${text}: another's answer ${JSON.stringify(responses[0])}`);
}

/** No stream came: that is an answer where its status says why. */
function refused(tally: Tally, text: string, status: number): void {
  if ([400, 404, 429, 503].includes(status)) tally.told += 1;
  else tally.faults.push(`${text}: no stream, status ${status}`);
}

const responsesOf = (messages: readonly (Message | undefined)[]) =>
  messages.filter((message): message is Message => message !== undefined && !('method' in message));

async function whole(tally: Tally, text: string, reply: Promise<Reply>): Promise<void> {
  const { messages, status } = await inTime(text, reply);
  judge(tally, text, responsesOf(messages), status);
}

async function inTime<T>(text: string, answer: Promise<T>): Promise<T> {
  const timer = new AbortController();
  const late = delay(patienceMs, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`${text}: no answer within ${patienceMs} ms`);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    late.catch(() => undefined); // called off
    timer.abort();
  }
}

/** Read a stream until it ends. */
async function rest(stream: Stream): Promise<void> {
  while ((await stream.next()) !== undefined);
}

type LegacyDeed = (session: LegacySession, tally: Tally, url: string) => Promise<void>;

const legacyDeeds: readonly LegacyDeed[] = [
  async function call(session, tally) {
    const text = begin(tally);
    await whole(tally, text, session.request('tools/call', args('echo', text)));
  },
  async function hearProgress(session, tally) {
    const text = begin(tally);
    await whole(tally, text, session.request('tools/call', args('work', text, 1)));
  },
  async function answerQuestion(session, tally) {
    const text = begin(tally);
    const stream = await session.stream('tools/call', args('ask', text));
    const reading = (async () => {
      for await (const { message } of stream) {
        if (message?.method !== 'elicitation/create' || chance(0.3)) continue;
        await session.post({ jsonrpc: '2.0', id: message.id, result: { action: 'decline' } });
      }
    })();
    await inTime(text, reading);
    // What is no stream has its answer in one piece, which a stream's reader does not see.
    if (!isStream(stream)) tally.told += 1;
    else judge(tally, text, responsesOf(stream.events.map(({ message }) => message)), stream.status);
  },
  async function dropAndResume(session, tally) {
    const text = begin(tally);
    const stream = await session.stream('tools/call', args('work', text, 1));
    if (!isStream(stream)) return refused(tally, text, stream.status);
    await inTime(text, stream.next());
    stream.close();
    await stream.ended;
    const seen = stream.events;
    const id = seen.findLast((event) => event.id !== undefined)?.id;
    if (id === undefined || chance(0.2)) return void (tally.abandoned += 1);
    await delay(Math.random() * 300);
    const resumed = await session.get({ 'Last-Event-ID': id });
    if (resumed.status !== 200) return refused(tally, text, resumed.status);
    await inTime(text, rest(resumed));
    const messages = [...seen, ...resumed.events].map(({ message }) => message);
    judge(tally, text, responsesOf(messages), resumed.status);
  },
  async function stall(session, tally, url) {
    const text = begin(tally);
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: args('flood', text, 1) };
    const stalled = await openStalled(url, { method: 'POST', headers: session.headers, body });
    await delay(Math.random() * 800);
    if (chance(0.5)) return void ((tally.abandoned += 1), stalled.close());
    await whole(tally, text, stalled.read());
  },
];

type Modern = SoakClient & { headers: Record<string, string> };

const modernDeeds: readonly ((client: Modern) => Promise<void>)[] = [
  async function call({ url, headers, tally }) {
    const text = begin(tally);
    await whole(tally, text, modern({ url }, headers).request('tools/call', args('echo', text)));
  },
  async function drop({ url, headers, tally }) {
    const text = begin(tally);
    const stream = await modern({ url }, headers).stream('tools/call', args('work', text, 1));
    if (isStream(stream)) await inTime(text, stream.next());
    stream.close();
    tally.abandoned += 1;
  },
  async function listen({ url, headers }) {
    const params = { notifications: { toolsListChanged: true } };
    const stream = await modern({ url }, headers).stream('subscriptions/listen', params);
    if (isStream(stream)) await inTime('listen', stream.next());
    await delay(Math.random() * 1_000);
    stream.close();
  },
];

function isStream({ headers }: Stream): boolean {
  return headers['content-type'] === 'text/event-stream';
}

function chance(share: number): boolean {
  return Math.random() < share;
}

function pick<T>(all: readonly T[]): T {
  return all[Math.floor(Math.random() * all.length)]!;
}
