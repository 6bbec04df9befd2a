/** `examples/graceful-shutdown.ts`: what SIGTERM does to what is open. */
import { endExamples, startExample } from '../support/example';
import { legacySession, modern } from '../support/wire';

afterEach(endExamples);

describe('the example graceful-shutdown', () => {
  it('lets a running call finish, ends the streams, and exits', async () => {
    const example = await startExample('graceful-shutdown');
    const session = await legacySession(example);
    const listening = await session.get();
    const call = await modern(example).stream(
      'tools/call',
      { name: 'wait', arguments: { ms: 500 } },
      { meta: { progressToken: 1 } },
    );
    await call.find(({ method }) => method === 'notifications/progress');

    example.process.kill('SIGTERM');
    await example.prints('Closing');
    const { result } = await call.find((message) => 'result' in message);
    expect(result?.content).toEqual([{ type: 'text', text: 'Waited 500 ms' }]);
    await listening.ended;
    expect(await example.ended).toBe(0);
    expect(example.output).toMatch(/Closing\nClosed\n$/);
  }, 60_000);

  it('refuses connections and new requests from then on', async () => {
    const example = await startExample('graceful-shutdown');
    const call = await modern(example).stream(
      'tools/call',
      { name: 'wait', arguments: { ms: 1_000 } },
      { meta: { progressToken: 1 } },
    );
    await call.find(({ method }) => method === 'notifications/progress');
    example.process.kill('SIGTERM');
    await example.prints('Closing');
    await expect(modern(example).request('tools/list')).rejects.toThrow(/ECONNREFUSED|ECONNRESET/);
    await call.ended;
    expect(await example.ended).toBe(0);
  }, 60_000);
});
