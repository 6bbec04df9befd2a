/** One text for equal JSON values, whatever the order of their keys. */

/**
 * Write `value`, which came from JSON, with its keys in code-unit order. Does not recurse: no nesting overflows the stack.
 * An absent key and one that is `undefined` are equal, and so are 0 and -0.
 */
export function canonicalJson(value: unknown): string {
  let text = '';
  /** What is left to write, last first: strings are finished text, objects are still to be opened. */
  const pending: (string | object)[] = [pendingValue(value)];
  for (let item = pending.pop(); item !== undefined; item = pending.pop()) {
    if (typeof item === 'string') {
      text += item;
    } else if (Array.isArray(item)) {
      text += '[';
      pending.push(']');
      for (let index = item.length - 1; index >= 0; index -= 1) {
        pending.push(pendingValue(item[index]));
        if (index > 0) pending.push(',');
      }
    } else {
      text += '{';
      pending.push('}');
      const members = item as Record<string, unknown>;
      const keys = Object.keys(members).filter((key) => members[key] !== undefined);
      keys.sort();
      for (let index = keys.length - 1; index >= 0; index -= 1) {
        const key = keys[index] as string;
        pending.push(pendingValue(members[key]), `${index > 0 ? ',' : ''}${JSON.stringify(key)}:`);
      }
    }
  }
  return text;
}

function pendingValue(value: unknown): string | object {
  if (typeof value === 'object' && value !== null && !isFlatArray(value)) return value;
  return JSON.stringify(value) ?? 'null';
}

/** Without keys there is nothing to sort, and the engine's own code is ten times as fast. */
function isFlatArray(value: object): boolean {
  return Array.isArray(value) && value.every((item) => typeof item !== 'object' || item === null);
}
