/** A stack trace printed inside a tool shows the whole road of the call through `lib/`, and nothing beside it. */
import path from 'node:path';
import express from 'express';
import { allow, allowAll } from 'express-mcp';
import type { McpServer, McpServerOptions } from 'express-mcp';
import * as z from 'zod';
import { createFixture } from './support/fixture';
import type { Fixture } from './support/fixture';
import { legacySession, modern } from './support/wire';

const lib = path.join(__dirname, '../lib') + path.sep;

const road = ['callTool methods/tools.ts', 'dispatch dispatcher.ts', 'postMessage http/endpoint.ts'];

/** The frames of a stack that are in `lib/`, as "function file". */
function ownFrames(error: unknown): string[] {
  const lines = (error as Error).stack?.split('\n') ?? [];
  return lines
    .filter((line) => line.includes(lib))
    .map((line) => {
      const [, name = '(anonymous)', file] = /at (?:async )?(?:(\S+) \()?(.*?):\d+:\d+\)?$/.exec(line) ?? [];
      return `${name} ${file?.replace(lib, '').split(path.sep).join('/')}`;
    });
}

function registerThrowing(server: McpServer): void {
  const inputSchema = z.object({ when: z.string() });
  server.registerTool('at_once', { inputSchema }, () => {
    throw new Error('at once');
  });
  server.registerTool('later', { inputSchema }, async () => {
    await new Promise((resolve) => setImmediate(resolve));
    throw new Error('later');
  });
}

const authorizers: [string, McpServerOptions][] = [
  ['without an authorizer', { authorizer: undefined, readAuthorizer: undefined }],
  ['with allowAll', { authorizer: allowAll }],
  ['with an authorizer that answers at once', { authorizer: () => allow() }],
  [
    'with an authorizer that takes its time',
    { authorizer: () => new Promise((resolve) => setImmediate(() => resolve(allow()))) },
  ],
];

describe.each(authorizers)('an error thrown in a tool, %s', (_, options) => {
  const stackTraceLimit = Error.stackTraceLimit;
  let fixture: Fixture;

  async function start(before: express.RequestHandler[] = []): Promise<void> {
    const errors: unknown[] = [];
    fixture = await createFixture({
      server: { ...options, onError: (error) => void errors.push(error) },
      before,
      setup(server) {
        registerThrowing(server);
      },
    });
    fixture.errors = errors;
  }

  beforeEach(() => {
    Error.stackTraceLimit = 50;
  });

  afterEach(async () => {
    Error.stackTraceLimit = stackTraceLimit;
    await fixture.close();
  });

  it.each(['at_once', 'later'])('comes from a legacy session by the road of one call (%s)', async (name) => {
    await start();
    const session = await legacySession(fixture);
    await session.callTool(name, { when: 'now' });
    expect(fixture.errors.map(ownFrames)).toEqual([road]);
  });

  it.each(['at_once', 'later'])('comes from a modern client by the road of one call (%s)', async (name) => {
    await start();
    await modern(fixture).callTool(name, { when: 'now' });
    expect(fixture.errors.map(ownFrames)).toEqual([road]);
  });

  it.each(['at_once', 'later'])('comes by the same road when the host has parsed the body (%s)', async (name) => {
    await start([express.json()]);
    await modern(fixture).callTool(name, { when: 'now' });
    expect(fixture.errors.map(ownFrames).map((frames) => frames.slice(0, road.length))).toEqual([road]);
  });
});
