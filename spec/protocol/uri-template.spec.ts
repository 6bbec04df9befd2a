import fc from 'fast-check';
import { parseUriTemplate } from '../../lib/protocol/uri-template';

/** The variables as a plain object, so that it can be compared. */
function match(template: string, uri: string): unknown {
  const variables = parseUriTemplate(template).match(uri);
  return typeof variables === 'object' ? { ...variables } : variables;
}

describe('a URI template', () => {
  it('tells its text and its variables in order', () => {
    const template = parseUriTemplate('x://{a}/{b,c}{/d*}{?e,f}{&g}{#h}');
    expect(template.template).toBe('x://{a}/{b,c}{/d*}{?e,f}{&g}{#h}');
    expect(template.variableNames).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']);
  });

  it.each<[string, string, Record<string, string>]>([
    ['item://{id}', 'item://7', { id: '7' }],
    ['file:///{a}/{b}.txt', 'file:///x/y.z.txt', { a: 'x', b: 'y.z' }],
    ['x://{a}-{b}', 'x://1-2-3', { a: '1', b: '2-3' }],
    ['x://{a}-{b}', 'x://--1', { a: '-', b: '1' }],
    ['x://{a}aab', 'x://aaaab', { a: 'aa' }],
    ['x://{a}..{b}', 'x://1...2', { a: '1', b: '.2' }],
    ['{scheme}:{rest}', 'urn:a:b', { scheme: 'urn', rest: 'a:b' }],
    ['x://{a,b}', 'x://1,2', { a: '1', b: '2' }],
    ['x:/{/a,b}', 'x://1/2', { a: '1', b: '2' }],
    ['x://{name}{.ext}', 'x://readme.md', { name: 'readme', ext: 'md' }],
    ['users{/id*}', 'users/1,2', { id: '1,2' }],
    ['x://find?q={q}', 'x://find?q=abc', { q: 'abc' }],
    ['x://find?q={q}&r={r}', 'x://find?q=a&r=b', { q: 'a', r: 'b' }],
    ['x://a#{f}', 'x://a#top', { f: 'top' }],
    ['x://fixed', 'x://fixed', {}],
  ])('%s matches %s', (template, uri, variables) => {
    expect(match(template, uri)).toEqual(variables);
  });

  it.each([
    ['item://{id}', 'item://'],
    ['item://{id}', 'item://a/b'],
    ['item://{id}', 'item://a?b'],
    ['item://{id}', 'item://a#b'],
    ['item://{id}', 'item://a/'],
    ['item://{id}', 'ITEM://a'],
    ['x://{a}-{b}', 'x://1-'],
    ['x://{a}-{b}', 'x://-1'],
    ['x://{a}-{b}', 'x://1/-2'],
    ['x://{a}-{b}!', 'x://1-!'],
    ['x://{a}-{b}-', 'x://1-'],
    ['x://{a}--{b}-', 'x://1--'],
    ['x://ab{c}ba', 'x://aba'],
    ['x://{a,b}', 'x://1'],
    ['x:/{/a}', 'x:/'],
    ['users{/id*}', 'users/1/2'],
    ['w://a.b/{c}', 'w://aXb/p'],
    ['x://find?q={q}', 'x://find?q=a&q=b'],
    ['x://find?q={q}', 'x://findq=a'],
    ['x://find?q={q}', 'x://find#q=a'],
    ['x://find?q={q}', 'x://find'],
    ['x://a{#f}', 'x://a#'],
    ['x://a{#f}', 'x://a#b/c'],
    ['x://fixed', 'x://fixed/'],
  ])('%s does not match %s', (template, uri) => {
    expect(match(template, uri)).toBeUndefined();
  });

  it('matches a variable as one decoded path segment, never a separator', () => {
    const template = parseUriTemplate('item://{a}/{b}');
    const character = fc.constantFrom('/', '?', '#', '%', '%41', '%2F', 'a', 'é', ' ', ',', '&', '=');
    fc.assert(
      fc.property(fc.array(character), fc.array(character), (first, second) => {
        const [a, b] = [first.join(''), second.join('')];
        const uri = `item://${encodeURIComponent(a)}/${encodeURIComponent(b)}`;
        expect(match(template.template, uri)).toEqual(a === '' || b === '' ? undefined : { a, b });
        const raw = template.match(`item://${a}/${b}`);
        if (/[/?#]/.test(a + b)) expect(raw).toBeUndefined();
      }),
    );
  });

  it('takes the pairs of {?…} in any order, and leaves absent ones out', () => {
    expect(match('x://find{?q,r}', 'x://find?q=a&r=b')).toEqual({ q: 'a', r: 'b' });
    expect(match('x://find{?q,r}', 'x://find?r=b&q=a')).toEqual({ q: 'a', r: 'b' });
    expect(match('x://find{?q,r}', 'x://find?r=')).toEqual({ r: '' });
    expect(match('x://find{?q,r}', 'x://find')).toEqual({});
    expect(match('x://find{?q,r}', 'x://find?r=a=b')).toEqual({ r: 'a=b' });
    expect(match('x://find{?q}{&r}', 'x://find?r=b&q=a')).toEqual({ q: 'a', r: 'b' });
    expect(match('x://find?v=1{&q}{#f}', 'x://find?v=1&q=a#top')).toEqual({ q: 'a', f: 'top' });
    expect(match('x://find?v=1{&q}{#f}', 'x://find?v=1')).toEqual({});
    expect(match('search{?tags*}', 'search?tags=a,b')).toEqual({ tags: 'a,b' });
  });

  it.each([
    ['x://find?z=1'],
    ['x://find?q=1&q=2'],
    ['x://find?'],
    ['x://find?q'],
    ['x://find?q=1&'],
    ['x://find?q=1?r=2'],
    ['x://find?q=a/b'],
    ['x://find&q=1'],
    ['x://find?Q=1'],
    ['x://find?__proto__=1'],
  ])('refuses %s for x://find{?q,r}', (uri) => {
    expect(match('x://find{?q,r}', uri)).toBeUndefined();
  });

  it.each([
    ['a%20b', 'a b'],
    ['%2520', '%20'],
    ['caf%C3%A9', 'café'],
    ['café', 'café'],
    ['a+b', 'a+b'],
    ['a%2Fb', 'a/b'],
    ['a%2fb', 'a/b'],
    ['%41', 'A'],
    ['a b', 'a b'],
    ['%F0%9F%98%80', '😀'],
    ['😀', '😀'],
  ])('decodes %s once', (segment, value) => {
    expect(match('item://{id}', `item://${segment}`)).toEqual({ id: value });
  });

  it.each([['%E0%A4'], ['%'], ['%4'], ['%zz'], ['%4%31'], ['%\u00e9'], ['%C3'], ['%C0%80'], ['%ED%A0%80'], ['\ud800']])(
    'calls %j malformed',
    (segment) => {
      expect(match('item://{id}', `item://${segment}`)).toBe('malformed');
      expect(match('other://{id}', `item://${segment}`)).toBeUndefined();
    },
  );

  it('finds a literal in any of its equal spellings', () => {
    for (const literal of ['café', 'caf%C3%A9', 'caf%c3%a9']) {
      for (const uri of ['x://café/1', 'x://caf%C3%A9/1', 'x://caf%c3%a9/1', 'x://c%61f%C3%A9/1']) {
        expect(match(`x://${literal}/{id}`, uri)).toEqual({ id: '1' });
      }
      expect(match(`x://${literal}/{id}`, 'x://cafe/1')).toBeUndefined();
    }
  });

  it.each(['.', '*', '+', '(a|b)', '[a]', '$', '^', '\\d'])('takes %j in a literal for itself', (literal) => {
    expect(match(`x://${literal}/{id}`, `x://${literal}/1`)).toEqual({ id: '1' });
    expect(match(`x://${literal}/{id}`, 'x://a/1')).toBeUndefined();
  });

  it('keeps variables with the names of what objects inherit', () => {
    const template = parseUriTemplate('x://{__proto__}/{constructor}{?toString}');
    const variables = template.match('x://a/b') as Record<string, string>;
    expect(Object.entries(variables)).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ]);
    expect(variables.toString).toBeUndefined();
  });

  it.each([
    ['users{/id*}', `users/${','.repeat(50_000)}/`],
    ['users{/id*}', `users${'/,'.repeat(25_000)}#`],
    ['search{?tags*}', `search?tags=${','.repeat(50_000)}#`],
    ['search{?tags*}', `search?${'tags=,&'.repeat(10_000)}`],
    ['x{a,b,c,d,e,f}!', `x${','.repeat(50_000)}`],
    ['x{a}-{b}-{c}-{d}!', `x${'-'.repeat(50_000)}`],
    ['x{a}', `x${'%'.repeat(50_000)}`],
    ['x{a}', `x${'é%C3'.repeat(20_000)}`],
  ])('answers in linear time: %s', (template, uri) => {
    const parsed = parseUriTemplate(template);
    // The processor's time, not the clock's: others work on this machine too.
    const start = process.cpuUsage();
    parsed.match(uri);
    const { user, system } = process.cpuUsage(start);
    expect((user + system) / 1_000).toBeLessThan(200);
  });

  it.each([
    ['x://{+path}', 'write one {variable} for each path segment'],
    ['x://{;a}', 'not supported'],
    ['x://{=a}', 'not supported'],
    ['x://{#a,b}', 'not supported'],
    ['x://{a:3}', 'without ":"'],
    ['x://{}', 'names of letters'],
    ['x://{a,}', 'names of letters'],
    ['x://{a b}', 'names of letters'],
    ['x://{user-id}', 'names of letters'],
    ['x://{a}{b}', 'nothing separates {a} from {b}'],
    ['x://{a}/{a}', '"a" is used twice'],
    ['x://{?a,a}', '"a" is used twice'],
    ['x://{a', '"{"'],
    ['x://a}', '"}"'],
    ['x://{a{b}}', '"{"'],
    ['x://%zz/{a}', '"%"'],
    ['x://\ud800{a}', 'percent-encoded'],
    ['x://{?a}/b', 'may follow'],
    ['x://{?a}{b}', 'may follow'],
    ['x://{#a}{b}', 'may follow'],
    ['x://{#a}{?b}', 'must stand before'],
    ['x://{?a}{?b}', 'must be {&…}'],
    ['x://?v=1{?a}', 'must be {&…}'],
    ['x://{&a}', 'must be {?…}'],
  ])('refuses %s, and says why: %s', (template, reason) => {
    expect(() => parseUriTemplate(template)).toThrow(TypeError);
    expect(() => parseUriTemplate(template)).toThrow(`URI template "${template}": `);
    expect(() => parseUriTemplate(template)).toThrow(reason);
  });
});
