/** `examples/hello.ts`: what it prints works when pasted. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { endExamples, runExample, startExample } from '../support/example';
import type { Example } from '../support/example';
import { legacySession, modern, textOf } from '../support/wire';

const advice = 'Another port: PORT=3001 npm start';
let example: Example;

beforeAll(async () => {
  example = await startExample('hello');
  await example.prints('authorizer');
}, 60_000);
afterAll(endExamples);

describe('the example hello', () => {
  it('prints its URL, its tools, and the option to set before others may call', () => {
    expect(example.output).toContain(`MCP endpoint: ${example.url}\n`);
    expect(example.output).toContain('Tools: echo, get_weather\n');
    expect(example.output).toContain('authorizer');
  });

  it('prints a curl line that, pasted, gets the answer of the tool', async () => {
    const [line = ''] = /^curl (?:.*\\\n)*.*$/m.exec(example.output) ?? [];
    const { stdout, stderr } = await promisify(execFile)('bash', ['-c', line]);
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toMatchObject({
      id: 1,
      result: { resultType: 'complete', content: [{ type: 'text', text: 'Paris: sunny, 24 °C' }] },
    });
  });

  it('tells the model which cities it could have asked for', async () => {
    const reply = await modern(example).callTool('get_weather', { city: 'Rome' });
    expect(reply.response?.result).toMatchObject({ isError: true });
    expect(textOf(reply)).toBe('No weather for Rome; try Paris, London, Oslo');
  });

  it('serves clients of both eras', async () => {
    expect(textOf(await modern(example).callTool('echo', { text: 'hi' }))).toBe('hi');
    const session = await legacySession(example);
    expect(textOf(await session.callTool('echo', { text: 'hi' }))).toBe('hi');
  });

  it('refuses a page of another origin', async () => {
    const reply = await modern(example, { Origin: 'https://evil.example' }).callTool('echo', { text: 'hi' });
    expect(reply.status).toBe(403);
  });

  it('refuses what comes through a proxy, and names the option', async () => {
    const reply = await modern(example, { 'X-Forwarded-For': '192.0.2.1' }).callTool('echo', { text: 'hi' });
    expect(reply.status).toBe(403);
    expect(reply.response?.error?.message).toContain('"authorizer"');
  });

  it('says how to take another port, and no URL, when its port is taken', async () => {
    const { port } = new URL(example.url);
    const second = await runExample('hello', { PORT: port });
    expect(await second.ended).toBe(1);
    expect(second.output).toBe(`listen EADDRINUSE: address already in use 127.0.0.1:${port}\n${advice}\n`);
  });
});
