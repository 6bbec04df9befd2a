/** What the fixture's server offers. */
import { setTimeout as delay } from 'node:timers/promises';
import { ToolError } from 'express-mcp';
import type { Context, McpServer } from 'express-mcp';
import * as z from 'zod';

/** What the tools let a spec see. */
export interface Probe {
  /** Names of the tool calls that ran, in order. */
  ran: string[];
  /** Names of those that came to an end, aborted ones too. */
  ended: string[];
  /** Request ids of the calls whose signal aborted. */
  aborted: unknown[];
  /** The arguments each call got. */
  calls: { name: string; args: unknown }[];
  /** Called when any of these changes. */
  changed(): void;
}

/** `echo`, `slow`, `hold`, `progress`, `report-and-hold`, `throws`, `fails`, `caller`, `era`, `optional`, `nothing`, `anything`, `destroy`, `polluted`, `ask`. */
export function registerTools(server: McpServer, probe: Probe): void {
  const note = (name: string, args: unknown, ctx: Context) => {
    probe.ran.push(name);
    probe.calls.push({ name, args });
    ctx.signal.addEventListener('abort', () => {
      probe.aborted.push(ctx.requestId);
      probe.changed();
    });
    probe.changed();
  };
  const end = (name: string) => {
    probe.ended.push(name);
    probe.changed();
  };

  server.registerTool(
    'echo',
    { description: 'Says it back', inputSchema: z.object({ text: z.string() }) },
    (args, ctx) => {
      note('echo', args, ctx);
      return args.text;
    },
  );

  server.registerTool(
    'slow',
    { description: 'Takes its time', inputSchema: z.object({ ms: z.number(), text: z.string().default('done') }) },
    async (args, ctx) => {
      note('slow', args, ctx);
      try {
        await delay(args.ms, undefined, { signal: ctx.signal });
        return args.text;
      } finally {
        end('slow');
      }
    },
  );

  server.registerTool('hold', { description: 'Ends when it is cancelled, not before' }, async (args, ctx) => {
    note('hold', args, ctx);
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
    end('hold');
    return 'aborted';
  });

  server.registerTool('progress', { description: 'Reports three times' }, async (args, ctx) => {
    note('progress', args, ctx);
    for (const step of [1, 2, 3]) ctx.progress(step, 3, `step ${step}`);
    return 'reported';
  });

  server.registerTool(
    'report-and-hold',
    { description: 'Reports, then ends when it is cancelled' },
    async (args, ctx) => {
      note('report-and-hold', args, ctx);
      const aborted = new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
      ctx.progress(1);
      await aborted;
      end('report-and-hold');
      return 'aborted';
    },
  );

  server.registerTool('throws', { description: 'Has a bug' }, (args, ctx) => {
    note('throws', args, ctx);
    throw new Error('connect postgres://user:secret@host/db');
  });

  server.registerTool('fails', { description: 'Fails, and says so' }, (args, ctx) => {
    note('fails', args, ctx);
    throw new ToolError('No such city');
  });

  server.registerTool('caller', { description: 'Names the caller' }, (args, ctx) => {
    note('caller', args, ctx);
    return ctx.principal ?? 'nobody';
  });

  server.registerTool('era', { description: 'Names how the caller speaks' }, (args, ctx) => {
    note('era', args, ctx);
    return `${ctx.era} ${ctx.revision}`;
  });

  server.registerTool(
    'optional',
    { description: 'Needs nothing', inputSchema: z.object({ a: z.string().optional(), n: z.number().optional() }) },
    (args, ctx) => {
      note('optional', args, ctx);
      return JSON.stringify(args);
    },
  );

  server.registerTool('nothing', { description: 'Takes nothing' }, (args, ctx) => {
    note('nothing', args, ctx);
    return 'nothing';
  });

  server.registerTool(
    'anything',
    { description: 'Takes whatever comes', inputSchema: z.looseObject({ value: z.any() }) },
    (args, ctx) => {
      note('anything', args, ctx);
      return Object.keys(args).join();
    },
  );

  server.registerTool(
    'destroy',
    { description: 'Cannot be undone', annotations: { destructiveHint: true } },
    (args, ctx) => {
      note('destroy', args, ctx);
      return 'destroyed';
    },
  );

  server.registerTool('polluted', { description: 'Looks at what every object inherits' }, (args, ctx) => {
    note('polluted', args, ctx);
    return String(({} as Record<string, unknown>).polluted);
  });

  server.registerTool('ask', { description: 'Asks for a name' }, async (args, ctx) => {
    note('ask', args, ctx);
    const answer = await ctx.elicit('name', { message: 'Who?', schema: z.object({ name: z.string() }) });
    return JSON.stringify(answer);
  });
}

/** The methods of later milestones, as far as the server has them. */
interface Later {
  registerResource?(
    name: string,
    uri: string,
    config: object,
    handler: (uri: string, variables: Record<string, string>) => string,
  ): unknown;
  registerPrompt?(name: string, config: object, handler: (args: { topic?: string }) => string): unknown;
}

/** One resource, one template, one prompt. */
export function registerFeatures(server: McpServer): void {
  const later = server as unknown as Later; // the methods may not be there yet
  later.registerResource?.('readme', 'file:///readme.txt', { mimeType: 'text/plain' }, () => 'Read me.');
  later.registerResource?.('item', 'item://{id}', { mimeType: 'text/plain' }, (_uri, { id }) => `Item ${id}`);
  const argsSchema = z.object({ topic: z.string().optional() });
  later.registerPrompt?.('greet', { description: 'Says hello', argsSchema }, ({ topic }) => `Hello ${topic ?? 'you'}`);
}
