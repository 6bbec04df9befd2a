/** A stack trace printed inside a tool shows the whole road of the call through `lib/`, and nothing beside it. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import express from 'express';
import { McpServer, allow, allowAll, mcpRouter } from 'express-mcp';
import type { McpServerOptions } from 'express-mcp';
import * as z from 'zod';
import { legacySession, modern } from './support/wire';

const lib = path.join(__dirname, '../lib') + path.sep;

const road = ['callTool methods/tools.ts', 'dispatch dispatcher.ts', 'postMessage http/endpoint.ts'];

/** The frames of a stack that are in `lib/`, as "function file". */
function ownFrames(error: unknown): string[] {
  const lines = (error as Error).stack?.split('\n') ?? [];
  return lines
    .filter((line) => line.includes(lib))
    .map((line) => {
      // "at async callTool (file:1:2)", "at Object.callTool [as run] (file:1:2)", or a bare "at file:1:2".
      const [, name = '(anonymous)', file] =
        /at (?:async )?(?:(?:\w+\.)?(\S+)(?: \[as \w+\])? \()?(\/.*?):\d+:\d+\)?$/.exec(line) ?? [];
      return `${name} ${file?.replace(lib, '').split(path.sep).join('/')}`;
    });
}

interface Running {
  url: string;
  /** What `onError` heard. */
  errors: unknown[];
  close(): Promise<void>;
}

/** A server whose tools throw, behind `before`. */
async function start(options: McpServerOptions, before: express.RequestHandler[] = []): Promise<Running> {
  const errors: unknown[] = [];
  const server = new McpServer(
    { name: 'thrower', version: '1.0.0' },
    { ...options, onError: (error) => void errors.push(error) },
  );
  const inputSchema = z.object({ when: z.string() });
  server.registerTool('at_once', { inputSchema }, () => {
    throw new Error('at once');
  });
  server.registerTool('later', { inputSchema }, async () => {
    await new Promise((resolve) => setImmediate(resolve));
    throw new Error('later');
  });
  const router = mcpRouter(server);
  const http = express()
    .use('/mcp', ...before, router)
    .listen(0, '127.0.0.1');
  await once(http, 'listening');
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    errors,
    async close() {
      await router.close({ graceMs: 0 });
      http.close();
      http.closeAllConnections();
    },
  };
}

const authorizers: [string, McpServerOptions][] = [
  ['without an authorizer', {}],
  ['with allowAll', { authorizer: allowAll }],
  ['with an authorizer that answers at once', { authorizer: () => allow() }],
  [
    'with an authorizer that takes its time',
    { authorizer: () => new Promise((resolve) => setImmediate(() => resolve(allow()))) },
  ],
];

describe.each(authorizers)('an error thrown in a tool, %s', (_, options) => {
  const stackTraceLimit = Error.stackTraceLimit;
  let running: Running;

  beforeEach(() => {
    Error.stackTraceLimit = 50;
  });

  afterEach(async () => {
    Error.stackTraceLimit = stackTraceLimit;
    await running.close();
  });

  it.each(['at_once', 'later'])('comes from a legacy session by the road of one call (%s)', async (name) => {
    running = await start(options);
    const session = await legacySession(running);
    await session.callTool(name, { when: 'now' });
    expect(running.errors.map(ownFrames)).toEqual([road]);
  });

  it.each(['at_once', 'later'])('comes from a modern client by the road of one call (%s)', async (name) => {
    running = await start(options);
    await modern(running).callTool(name, { when: 'now' });
    expect(running.errors.map(ownFrames)).toEqual([road]);
  });

  it.each(['at_once', 'later'])('comes by the same road when the host has parsed the body (%s)', async (name) => {
    running = await start(options, [express.json()]);
    await modern(running).callTool(name, { when: 'now' });
    const [frames = []] = running.errors.map(ownFrames);
    expect(frames.slice(0, road.length)).toEqual(road);
    // With nothing to wait for on the way, the stack goes on to the router, where Express has called it.
    expect(frames.slice(road.length).filter((frame) => !frame.endsWith(' router.ts'))).toEqual([]);
  });
});
