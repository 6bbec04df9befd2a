/** `examples/rate-limit.ts`: calls are counted by user. */
import { endExamples, startExample } from '../support/example';
import type { Example } from '../support/example';
import { modern, textOf } from '../support/wire';

let example: Example;

beforeAll(async () => {
  example = await startExample('rate-limit');
}, 60_000);
afterAll(endExamples);

describe('the example rate-limit', () => {
  it('refuses a call without a key, and does not count it', async () => {
    const reply = await modern(example).callTool('whoami', {}, { validate: false });
    expect(reply.status).toBe(401);
    expect(reply.headers).not.toHaveProperty('ratelimit');
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/server/tools#security-considerations
  it('MUST rate limit tool invocations: by user, with an answer that clients understand', async () => {
    const alice = modern(example, { 'X-Api-Key': 'key-of-alice' });
    for (let count = 0; count < 10; count++) {
      expect(textOf(await alice.callTool('whoami'))).toBe('You are alice');
    }
    const refused = await alice.callTool('whoami');
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(refused.response?.error).toEqual({ code: -32600, message: 'Too many requests; try again later' });

    const bob = modern(example, { 'X-Api-Key': 'key-of-bob' });
    expect(textOf(await bob.callTool('whoami'))).toBe('You are bob');
  });
});
