/** Wait for what nothing announces: looked at again on every turn of the event loop, for at most ten seconds. */

/** Resolves once `condition` holds; says what was expected when it never does. */
export async function eventually(condition: () => boolean, expected = String(condition)): Promise<void> {
  const giveUpAt = performance.now() + 10_000;
  while (!condition()) {
    if (performance.now() > giveUpAt) throw new Error(`Never happened: ${expected}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
