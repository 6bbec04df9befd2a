/** `examples/client.ts`, against `examples/hello.ts`. */
import { endExamples, runExample, startExample } from '../support/example';

let url: string;

beforeAll(async () => {
  ({ url } = await startExample('hello'));
}, 60_000);
afterAll(endExamples);

describe('the example client', () => {
  it('lists the tools of hello and calls one', async () => {
    const client = await runExample('client', { PORT: new URL(url).port });
    expect(await client.ended).toBe(0);
    expect(client.output.split('\n')).toEqual([
      `${url} speaks 2026-07-28`,
      '- echo: Say it back',
      '- get_weather: Current weather of a city',
      'Oslo: snow, -3 °C',
      '',
    ]);
  }, 60_000);

  it('takes the URL from the command line', async () => {
    const client = await runExample('client', {}, [url]);
    expect(await client.ended).toBe(0);
    expect(client.output).toContain(`${url} speaks`);
  }, 60_000);

  it('fails with an error when nobody listens', async () => {
    const client = await runExample('client');
    expect(await client.ended).toBe(1);
    expect(client.output).toContain('ECONNREFUSED');
  }, 60_000);
});
