/** `examples/test-your-tools.ts`, started as its first line says: its tests pass, and can fail. */
import { endExamples, runExample } from '../support/example';

afterAll(endExamples);

describe('the example test-your-tools', () => {
  it('passes in both eras, and ends', async () => {
    const example = await runExample('test-your-tools');
    expect(`${await example.ended} ${example.output}`).toMatch(/^0 /);
    for (const revision of ['2025-11-25', '2026-07-28']) {
      expect(example.output).toContain(`pay asks first (${revision})`);
      expect(example.output).toContain(`strangers see no tools (${revision})`);
    }
    expect(example.output).toMatch(/pass 4\n/);
  }, 60_000);
});
