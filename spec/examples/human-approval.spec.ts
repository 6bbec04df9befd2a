/** `examples/human-approval.ts`: the question, the yes, and every other answer, in both eras. */
import { endExamples, startExample } from '../support/example';
import type { Example } from '../support/example';
import { legacySession, modern, textOf } from '../support/wire';
import type { Message } from '../support/wire';

const approvalKey = 'io.github.express-mcp/approval';
const denialKey = 'io.github.express-mcp/authorization';
const capabilities = { elicitation: {} };
let example: Example;

beforeAll(async () => {
  example = await startExample('human-approval');
}, 60_000);
afterAll(endExamples);

/** Call, be asked, and send `answer` with the state as it came. */
async function answerModern(answer: object) {
  const client = modern(example);
  const asked = await client.request(
    'tools/call',
    { name: 'delete_account', arguments: { name: 'anna' } },
    { capabilities },
  );
  const { inputRequests, requestState } = asked.response?.result as {
    inputRequests: Record<string, { params: unknown }>;
    requestState: string;
  };
  const params = { name: 'delete_account', arguments: { name: 'anna' }, requestState };
  const reply = await client.request(
    'tools/call',
    { ...params, inputResponses: { [approvalKey]: answer } },
    { capabilities },
  );
  return { question: inputRequests[approvalKey]?.params, reply };
}

async function accounts(): Promise<string> {
  return textOf(await modern(example).callTool('list_accounts'));
}

describe('the example human-approval', () => {
  it.each([
    { action: 'decline' },
    { action: 'cancel' },
    { action: 'accept', content: { approve: false, reason: 'moved away' } },
    { action: 'accept', content: { reason: 'moved away' } },
    { action: 'accept', content: { approve: true, reason: '' } },
  ])('does not run the tool after %j', async (answer) => {
    const { reply } = await answerModern(answer);
    expect(reply.response?.result).toMatchObject({
      isError: true,
      _meta: { [denialKey]: { code: 'authorization_denied' } },
    });
    expect(await accounts()).toBe('anna, ben');
  });

  it('denies, and says that it would have to ask, when the client cannot be asked', async () => {
    const expected = { isError: true, _meta: { [denialKey]: { code: 'authorization_required' } } };
    const reply = await modern(example).callTool('delete_account', { name: 'anna' });
    expect(reply.response?.result).toMatchObject(expected);
    const session = await legacySession(example);
    expect((await session.callTool('delete_account', { name: 'anna' })).response?.result).toMatchObject(expected);
    expect(await accounts()).toBe('anna, ben');
  });

  it('asks a client of 2026-07-28, and runs the tool after the yes', async () => {
    const content = { approve: true, reason: 'moved away' };
    const { question, reply } = await answerModern({ action: 'accept', content });
    expect(question).toMatchObject({
      mode: 'form',
      message: 'Delete the account "anna" for good?',
      requestedSchema: { properties: { approve: { type: 'boolean' }, reason: { type: 'string', title: 'Reason' } } },
    });
    expect(textOf(reply)).toBe('Deleted "anna", because: moved away');
    expect(await accounts()).toBe('ben');
  });

  it('asks a legacy client on the stream of the call', async () => {
    const session = await legacySession(example, { capabilities });
    const stream = await session.stream('tools/call', { name: 'delete_account', arguments: { name: 'ben' } });
    const question = await stream.find(({ method }) => method === 'elicitation/create');
    const result = { action: 'accept', content: { approve: true, reason: 'moved away' } };
    expect((await session.post({ jsonrpc: '2.0', id: question.id, result })).status).toBe(202);
    const answer: Message = await stream.find((message) => 'result' in message);
    expect(answer.result?.content).toEqual([{ type: 'text', text: 'Deleted "ben", because: moved away' }]);
  });
});
