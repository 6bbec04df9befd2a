/** What one call may cost, counted and not timed: how many functions of `lib/` run for it, and how often its JSON and its arguments are parsed. */
import { Session } from 'node:inspector/promises';
import path from 'node:path';
import { allow, allowAll } from 'express-mcp';
import * as z from 'zod';
import { serve } from './support/serve';
import type { Served } from './support/serve';
import { legacySession, modern, textOf } from './support/wire';
import type { Reply } from './support/wire';

const lib = path.join(__dirname, '../lib') + path.sep;

/**
 * Functions of ours that run for one call of a tool, from the router to the answer; docs/performance.md says the same. A
 * number that grows is a longer road: take the step out, or say there what it is for.
 */
const budget = { modern: 99, session: 100 };

const eras = ['modern', 'session'] as const;
let served: Served;
let parsed: unknown[];

beforeEach(async () => {
  parsed = [];
  // The mount's clock is on no call's road: it does not tick here.
  const stopped = { unref: () => stopped };
  jest.spyOn(globalThis, 'setInterval').mockImplementation(() => stopped as never);
  const Text = z.object({ text: z.string() });
  const validate = jest.spyOn(Text['~standard'], 'validate');
  served = await serve((server) => void server.registerTool('echo', { inputSchema: Text }, ({ text }) => text), {
    server: { authorizer: () => allow(), readAuthorizer: allowAll },
  });
  validate.mockImplementation((value) => {
    parsed.push(value);
    return { value: value as { text: string } };
  });
});
afterEach(async () => {
  await served.close();
  jest.restoreAllMocks();
});

/** A client of an era, ready to call. */
async function callerOf(era: (typeof eras)[number]): Promise<() => Promise<Reply>> {
  if (era === 'modern') return () => modern(served).callTool('echo', { text: 'hi' });
  const session = await legacySession(served);
  return () => session.callTool('echo', { text: 'hi' });
}

/** The functions of ours that run while `run` runs, each once, as "file function". */
async function functionsOf(run: () => Promise<unknown>): Promise<string[]> {
  const inspector = new Session();
  inspector.connect();
  await inspector.post('Profiler.enable');
  await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await run();
  const { result } = await inspector.post('Profiler.takePreciseCoverage');
  inspector.disconnect();
  // What the spec's own handlers import is not on the road.
  const scripts = result.filter(({ url }) => url.includes(lib) && !url.endsWith(`${path.sep}index.ts`));
  return scripts.flatMap(({ url, functions }) =>
    functions
      .filter(({ ranges: [range] }) => range!.count > 0)
      .map(({ functionName }) => `${url.slice(url.indexOf(lib) + lib.length)} ${functionName}`),
  );
}

describe.each(eras)('one call of a tool, %s', (era) => {
  it('takes no more functions of ours than it may', async () => {
    const call = await callerOf(era);
    // What has never run is not counted before it has run twice.
    for (let warmUp = 0; warmUp < 10; warmUp += 1) await call();
    const road = await functionsOf(call);
    expect(road).toEqual(expect.arrayContaining(['router.ts serve', 'methods/tools.ts callTool', 'http/reply.ts end']));
    // Shown by name when they are too many. V8 may count a few less: those that it has put inside others.
    expect(road.length > budget[era] ? road : []).toEqual([]);
  });

  it('parses the body once, and the arguments once', async () => {
    const call = await callerOf(era);
    parsed.length = 0;
    const parse = jest.spyOn(JSON, 'parse');
    expect(textOf(await call())).toBe('hi');
    const bodies = parse.mock.calls.filter(([text]) => text.includes('"tools/call"'));
    parse.mockRestore();
    expect(bodies).toHaveLength(1);
    expect(parsed).toEqual([{ text: 'hi' }]);
  });
});
