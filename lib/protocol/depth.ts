/** How deep a JSON value is nested: what recurses over it (schemas, JSON.stringify, an author's code) must not overflow the stack. */

/** Deeper than any message that means something, and far from what overflows. */
export const maxDepth = 500;

/** Is `value` nested deeper than {@link maxDepth}? Without recursion, in one walk. */
export function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) return true;
    const next: unknown[] = [];
    for (const node of level) {
      if (typeof node !== 'object' || node === null) continue;
      for (const child of Array.isArray(node) ? node : Object.values(node)) {
        if (typeof child === 'object' && child !== null) next.push(child);
      }
    }
    level = next;
  }
  return false;
}
