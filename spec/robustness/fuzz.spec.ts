/**
 * Whatever comes in, a well-formed answer goes out. Nine tenths of the inputs go to the server without a socket (half of
 * them as messages, half as requests to the mount), one tenth over sockets. `FUZZ_RUNS` says how many there are.
 */
import { Agent, createServer, request } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import { connect as connectSocket } from 'node:net';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { mcpRouter } from 'express-mcp';
import type { Connection, McpServer } from 'express-mcp';
import * as fc from 'fast-check';
import { readReply } from '../support/exchange';
import { createServer as createMcpServer } from '../support/serve';
import { expectValidMessage, latestLegacy, legacyRevisions, modernRevision, revisions } from '../support/schema';
import type { Revision } from '../support/schema';
import { initializeMessage, legacySession } from '../support/wire';
import type { Headers } from '../support/wire';
import { accept, dispatchTo } from './dispatch';
import { registerHarmless } from './server';
import { inputs, legacyValues, modernValues, rawRequests } from './traffic';
import type { Input } from './traffic';

const runs = Number(process.env.FUZZ_RUNS ?? 2_000);
/** The same inputs in every run, unless `FUZZ_SEED` says otherwise: what fails can be looked at again. */
const seed = Number(process.env.FUZZ_SEED ?? 1);
const share = (part: number) => ({ numRuns: Math.ceil(runs * part), seed });
jest.setTimeout(60_000 + runs * 20);

/** An answer takes less than a second of our own time; other processes' is theirs, so the clock on the wall has longer. */
const maxCpuMs = 1_000;
const maxWallMs = 10_000;

const errors: unknown[] = [];
let server: McpServer;
let router: ReturnType<typeof mcpRouter>;
let httpServer: Server;
let url: string;
let port: number;
/** The headers of a session that lives. */
let session: Headers = {};
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

beforeAll(async () => {
  server = createMcpServer(registerHarmless, { errors, server: { elicitationTimeoutMs: 50 } });
  router = mcpRouter(server, {
    maxSessionsPerPrincipal: 10_000,
    sessionIdleMs: 5_000,
    onError: (e) => void errors.push(e),
  });
  httpServer = createServer(express().use('/mcp', router));
  await new Promise<void>((resolve) => httpServer.listen(0, '127.0.0.1', resolve));
  ({ port } = httpServer.address() as AddressInfo);
  url = `http://127.0.0.1:${port}/mcp`;
});
beforeEach(openSession);
afterEach(async () => {
  // Alive, and as good as new.
  await openSession();
  // The only fault in the server is the author's own.
  const faults = errors.splice(0).filter((error) => !String(error).includes('connect postgres:'));
  expect(faults).toEqual([]);
});
afterAll(async () => {
  agent.destroy();
  await router.close({ graceMs: 0 });
  const closed = new Promise((resolve) => httpServer.close(resolve));
  httpServer.closeAllConnections();
  await closed;
});

let opened = 0;
async function openSession(): Promise<void> {
  const revision = legacyRevisions[opened++ % legacyRevisions.length]!;
  const capabilities = opened % 2 === 0 ? { elicitation: {} } : {};
  session = (await legacySession({ url }, { revision, capabilities })).headers;
}

/** @throws {Error} when it takes too long. */
async function inTime<T>(answer: Promise<T>): Promise<T> {
  const before = process.cpuUsage();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`No answer within ${maxWallMs} ms`)), maxWallMs);
  });
  try {
    const answered = await Promise.race([answer, late]);
    const { user, system } = process.cpuUsage(before);
    if (user + system > maxCpuMs * 1_000) throw new Error(`Took ${(user + system) / 1_000} ms to answer`);
    return answered;
  } finally {
    clearTimeout(timer);
  }
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined; // broken on purpose
  }
}

/** Answers to these stay open until somebody cuts them. */
function isListening({ method, body }: Input): boolean {
  if (method === 'GET') return true;
  return (parsed(body) as { method?: unknown } | null | undefined)?.method === 'subscriptions/listen';
}

/** Send one input, and check what was answered. */
async function examine(input: Input, send: (sent: Input) => Promise<IncomingMessage | undefined>): Promise<void> {
  const sent = input.inSession ? { ...input, headers: { ...session, ...input.headers } } : input;
  try {
    await check(await inTime(send(sent)), sent);
  } catch (error) {
    const { method, headers, body } = sent;
    const said = `${method} ${JSON.stringify(headers)} ${JSON.stringify(body.toString('latin1'))}`;
    throw new Error(`${said}: ${String(error)}`, { cause: error });
  }
}

/** Check what was answered; a session that has ended is replaced. */
async function check(res: IncomingMessage | undefined, input: Input): Promise<void> {
  if (res === undefined) return;
  const { status } = await readReply(res, {
    method: input.method as 'POST',
    headers: input.headers,
    body: input.body,
    revision: revisionOf(input),
  });
  if (status === 404 || status === 204) await openSession();
}

/** What was asked under this id; nobody can tell where a batch uses it twice. */
function methodOf(asked: readonly { id?: unknown; method?: string }[], id: unknown): string | undefined {
  const [one, another] = asked.filter((message) => message?.id === id);
  return another === undefined ? one?.method : undefined;
}

function isModern(message: unknown): boolean {
  const meta = (message as { params?: { _meta?: unknown } | null } | null | undefined)?.params?._meta;
  return typeof meta === 'object' && meta !== null && 'io.modelcontextprotocol/protocolVersion' in meta;
}

function revisionOf({ headers, body }: Input): Revision | undefined {
  const { 'MCP-Protocol-Version': version, 'Mcp-Session-Id': sessionId } = headers;
  // A version that nobody speaks, without a session: refused as the newest revision refuses it.
  const isUnknown = version !== undefined && !revisions.some((revision) => revision === version);
  const speaksNothing = isUnknown && sessionId === undefined;
  const speaksModern = isModern(parsed(body)) || version === modernRevision || speaksNothing;
  return speaksModern ? modernRevision : undefined;
}

describe('messages, without HTTP', () => {
  it.each(revisions)('are answered as %s has it', async (revision) => {
    const connection: Connection = {};
    if (revision !== modernRevision) await server.handleMessage(initializeMessage(revision), connection);
    await fc.assert(
      fc.asyncProperty(revision === modernRevision ? modernValues : legacyValues, async (value) => {
        // What a transport has read is JSON.
        const text = JSON.stringify(value);
        const message: unknown = text === undefined ? undefined : JSON.parse(text);
        const answer = await inTime(server.handleMessage(message, connection));
        if (answer === undefined) return;
        const asked = [message].flat() as { id?: unknown; method?: string; params?: { protocolVersion?: string } }[];
        const offered = (answer as { result?: { protocolVersion?: Revision } }).result?.protocolVersion;
        // Without its _meta a modern message is a legacy one.
        const spoken = isModern(message) ? modernRevision : revision === modernRevision ? latestLegacy : revision;
        expectValidMessage(offered ?? spoken, JSON.parse(JSON.stringify(answer)), {
          request: (id) => methodOf(asked, id),
        });
        expect(JSON.stringify(answer)).not.toMatch(/\n\s+at |node_modules|\.[jt]s:\d+|postgres/);
        // `initialize` may have made another connection of it.
        if (offered !== undefined) await server.handleMessage(initializeMessage(revision), connection);
      }),
      share(0.45 / revisions.length),
    );
  });
});

describe('requests, without sockets', () => {
  it('are answered with a message, or with nothing where nothing is due', async () => {
    await fc.assert(
      fc.asyncProperty(inputs, (input) => examine(input, (sent) => dispatchTo(router, sent, isListening(sent)))),
      share(0.45),
    );
  });
});

describe('requests over a connection that is kept alive', () => {
  function overSocket(input: Input): Promise<IncomingMessage | undefined> {
    const { method, body } = input;
    const headers: Record<string, string | string[] | number> = { 'Content-Length': body.length };
    const given = { 'Content-Type': 'application/json', Accept: accept, ...input.headers };
    for (const [name, value] of Object.entries(given)) if (value !== undefined) headers[name] = value;
    return new Promise((resolve, reject) => {
      const req = request(url, { method, headers, agent }, (res) => {
        const staysOpen = isListening(input) && String(res.headers['content-type']).startsWith('text/event-stream');
        if (staysOpen) res.on('error', () => undefined).destroy();
        resolve(staysOpen ? undefined : res);
      });
      req.on('error', reject).end(body);
    });
  }

  it('are answered in turn', async () => {
    await fc.assert(
      fc.asyncProperty(inputs, (input) => examine(input, overSocket)),
      share(0.07),
    );
  });
});

describe('bytes on a socket', () => {
  /** Until the server has said something, or has had the time to; a request without an end is never answered. */
  function exchangeBytes(bytes: Buffer): Promise<Buffer> {
    return new Promise((resolve) => {
      const chunks: Buffer[] = [];
      const socket = connectSocket({ port, host: '127.0.0.1' }, () => socket.write(bytes));
      const giveUp = setTimeout(() => socket.end(), 20);
      socket.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        socket.end();
      });
      // A reset is a way to close.
      socket.on('error', () => undefined);
      socket.on('close', () => {
        clearTimeout(giveUp);
        resolve(Buffer.concat(chunks));
      });
    });
  }

  it('are answered as HTTP has it, or the connection is closed', async () => {
    await fc.assert(
      fc.asyncProperty(rawRequests, async (make) => {
        const bytes = await inTime(exchangeBytes(make('/mcp', session)));
        if (bytes.length === 0) return;
        const text = bytes.toString('latin1');
        expect(text).toMatch(/^HTTP\/1\.1 (2\d\d|4\d\d|503) [\w -]+\r\n/);
        expect(text).not.toMatch(/\n\s+at |node_modules|\.[jt]s:\d+|postgres/);
      }),
      share(0.03),
    );
  });
});
