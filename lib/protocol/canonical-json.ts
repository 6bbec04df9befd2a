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
      const members = Object.entries(item).filter((member) => member[1] !== undefined);
      members.sort(([a], [b]) => (a < b ? -1 : 1));
      text += '{';
      pending.push('}');
      for (let index = members.length - 1; index >= 0; index -= 1) {
        const [key, child] = members[index] as [string, unknown];
        pending.push(pendingValue(child), `${index > 0 ? ',' : ''}${JSON.stringify(key)}:`);
      }
    }
  }
  return text;
}

function pendingValue(value: unknown): string | object {
  return typeof value === 'object' && value !== null ? value : (JSON.stringify(value) ?? 'null');
}
