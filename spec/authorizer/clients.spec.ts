/** The clients that people use put the authorizer's question to their user, in both eras. */
import { allow, elicit } from 'express-mcp';
import type { ToolQuestion } from 'express-mcp';
import * as z from 'zod';
import { closeClients, connect, kinds } from '../clients/connect';
import type { Answers, ElicitAnswer } from '../clients/connect';
import { eventually } from '../support/eventually';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { createPolicy, denialKey } from '../support/questions';

const policy = createPolicy<ToolQuestion>();
let fixture: Fixture;
const approvals: unknown[] = [];
beforeEach(async () => {
  policy.decide = ({ operation, name }) =>
    operation === 'call' && name !== 'nothing' ? elicit(`Run ${name}?`) : allow();
  approvals.splice(0);
  fixture = await createFixture({
    server: { authorizer: policy.hook, elicitationTimeoutMs: 500 },
    setup(server) {
      server.registerTool('noted', {}, (_args, { approval }) => {
        approvals.push(approval);
        return 'noted';
      });
    },
  });
});
afterEach(async () => {
  await closeClients();
  await fixture.close();
  expect(fixture.router.stats()).toMatchObject({ parked: 0, calls: 0, streams: 0, sessions: 0 });
});

const accept = (content: Extract<ElicitAnswer, { action: 'accept' }>['content']): ElicitAnswer => ({
  action: 'accept',
  content,
});
const answering = (answer: ElicitAnswer): { answers: Answers; asked: string[] } => {
  const asked: string[] = [];
  return { asked, answers: { elicit: ({ message }) => (asked.push(message), answer) } };
};

describe.each(kinds)('%s', (kind) => {
  it('runs the tool after its user’s yes', async () => {
    const { answers, asked } = answering(accept({ approve: true }));
    const client = await connect(kind, fixture, answers);
    expect((await client.callTool('destroy')).content).toEqual([{ type: 'text', text: 'destroyed' }]);
    expect([asked, fixture.ran]).toEqual([['Run destroy?'], ['destroy']]);
    // Every call has its own question.
    await client.callTool('destroy');
    expect([asked.length, fixture.ran.length]).toEqual([2, 2]);
    expect((await client.callTool('nothing')).isError).toBeFalsy();
    expect(asked).toHaveLength(2);
  });

  it.each<[string, ElicitAnswer]>([
    ['declines', { action: 'decline' }],
    ['cancels', { action: 'cancel' }],
    ['accepts without approving', accept({ approve: false })],
  ])('is told why nothing ran when its user %s', async (_what, answer) => {
    const { answers, asked } = answering(answer);
    const client = await connect(kind, fixture, answers);
    const result = await client.callTool('destroy');
    expect(result.isError).toBe(true);
    expect((result as { _meta?: Record<string, unknown> })._meta?.[denialKey]).toMatchObject({
      code: 'authorization_denied',
      prompt: 'Run destroy?',
    });
    expect([asked, fixture.ran]).toEqual([['Run destroy?'], []]);
  });

  it('runs nothing when its user cannot be asked', async () => {
    const client = await connect(kind, fixture);
    const result = await client.callTool('destroy');
    expect((result as { _meta?: Record<string, unknown> })._meta?.[denialKey]).toMatchObject({
      code: 'authorization_required',
    });
    expect(fixture.ran).toEqual([]);
  });

  it('runs nothing when its question fails', async () => {
    const client = await connect(kind, fixture, {
      elicit() {
        throw new Error('No window');
      },
    });
    const outcome = await client.callTool('destroy').catch((error: unknown) => error);
    expect(outcome instanceof Error || (outcome as { isError?: boolean }).isError).toBe(true);
    expect(fixture.ran).toEqual([]);
  });

  it('runs nothing when it closes while its user thinks', async () => {
    let asked!: () => void;
    const asking = new Promise<void>((resolve) => (asked = resolve));
    const elicit = () => (asked(), new Promise<ElicitAnswer>(() => undefined));
    const client = await connect(kind, fixture, { elicit });
    // Whether the call settles is up to the client.
    client.callTool('destroy').catch(() => undefined);
    await asking;
    await client.close();
    await eventually(() => fixture.router.stats().parked === 0);
    expect(fixture.ran).toEqual([]);
  });

  it('has its answers to more fields in the handler’s context', async () => {
    const fields = z.object({ reason: z.string(), copies: z.int().optional() });
    policy.decide = ({ operation }) => (operation === 'call' ? elicit({ message: 'Sure?', fields }) : allow());
    const { answers } = answering(accept({ approve: true, reason: 'tidy', copies: 2 }));
    const client = await connect(kind, fixture, answers);
    expect((await client.callTool('noted')).isError).toBeFalsy();
    expect(approvals).toEqual([{ reason: 'tidy', copies: 2 }]);
  });
});

describe.each(['sdk 1.x', 'client 2.x, legacy'] as const)('%s', (kind) => {
  const silent = (onAsked: () => void): Answers => ({
    elicit: () => (onAsked(), new Promise<ElicitAnswer>(() => undefined)),
  });

  it('has a denial when its user is silent', async () => {
    const client = await connect(
      kind,
      fixture,
      silent(() => undefined),
    );
    const result = await client.callTool('destroy');
    expect([result.isError, fixture.ran]).toEqual([true, []]);
  });

  it.each<[string, (client: { terminate(): Promise<void> }) => Promise<unknown>]>([
    ['it ends its session', (client) => client.terminate()],
    ['the server closes', () => fixture.router.close()],
  ])('has a denial when %s meanwhile', async (_what, end) => {
    let asked!: () => void;
    const asking = new Promise<void>((resolve) => (asked = resolve));
    const client = await connect(kind, fixture, silent(asked));
    const call = client.callTool('destroy');
    await asking;
    await end(client);
    expect([(await call).isError, fixture.ran]).toEqual([true, []]);
  });
});
