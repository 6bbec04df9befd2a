import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { canonicalJson } from '../../lib/protocol/canonical-json';

/** The same value with the keys of every object in reverse order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, child]) => [key, reversed(child)])
      .reverse(),
  );
}

describe('canonicalJson', () => {
  it('does not depend on the order of keys', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
      }),
    );
  });

  it('keeps the value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('is equal for equal values only', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 1 }), fc.jsonValue({ maxDepth: 1 }), (a, b) => {
        const equal = isDeepStrictEqual(JSON.parse(JSON.stringify(a)), JSON.parse(JSON.stringify(b)));
        expect(canonicalJson(a) === canonicalJson(b)).toBe(equal);
      }),
    );
  });

  it.each([
    ['{"b":1,"a":[true,null,{"d":"x","c":0.5}]}', '{"a":[true,null,{"c":0.5,"d":"x"}],"b":1}'],
    ['{"__proto__":{"a":1},"constructor":2}', '{"__proto__":{"a":1},"constructor":2}'],
    ['{"10":1,"9":2}', '{"10":1,"9":2}'],
    ['[-0, 1.0, 1e2]', '[0,1,100]'],
    ['["é", "\\ud800", "\\u2028"]', '["é","\\ud800","\u2028"]'],
    ['{"é":1,"z":2}', '{"z":2,"é":1}'],
    ['[[],{},""]', '[[],{},""]'],
    ['"x"', '"x"'],
    ['null', 'null'],
  ])('writes %s as %s', (text, canonical) => {
    expect(canonicalJson(JSON.parse(text))).toBe(canonical);
  });

  it('takes undefined for absent in objects, for null elsewhere', () => {
    expect(canonicalJson({ a: undefined, b: 1 })).toBe('{"b":1}');
    expect(canonicalJson([undefined])).toBe('[null]');
    expect(canonicalJson(undefined)).toBe('null');
  });

  it('does not overflow the stack on 100,000 nested arrays or objects', () => {
    const arrays = '['.repeat(100_000) + ']'.repeat(100_000);
    expect(canonicalJson(JSON.parse(arrays)) === arrays).toBe(true);
    const objects = '{"a":'.repeat(100_000) + '1' + '}'.repeat(100_000);
    expect(canonicalJson(JSON.parse(objects)) === objects).toBe(true);
  });
});
