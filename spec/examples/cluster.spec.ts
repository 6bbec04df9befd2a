/** `examples/cluster.ts`: one session, three processes. */
import { endExamples, startExample } from '../support/example';
import { describeRedis } from '../support/redis';
import { legacySession, textOf } from '../support/wire';

afterEach(endExamples);

describeRedis('the example cluster', () => {
  it('answers one session from three processes', async () => {
    const example = await startExample('cluster');
    const session = await legacySession(example);
    const answers = new Set<string>();
    for (let n = 0; n < 6; n += 1) answers.add(textOf(await session.callTool('whoami', {})));
    expect(answers.size).toBe(3);
  }, 60_000);
});
