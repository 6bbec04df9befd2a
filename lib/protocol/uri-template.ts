/** URI templates, a subset of RFC 6570: parsed at registration, matched in linear time. */

/** A template that can tell which URIs are its own. */
export interface UriTemplate {
  readonly template: string;
  /** In the order of the template. */
  readonly variableNames: string[];
  /**
   * The decoded variables of `uri`, in an object without prototype. Undefined when the template cannot make `uri`;
   * "malformed" when it could but a variable has a broken escape or is not UTF-8.
   */
  match(uri: string): Record<string, string> | 'malformed' | undefined;
}

/** What stands between two separators: literals around variables. A separator is "/", "?", "#" and, in a query, "&". */
interface Segment {
  /** Separator before it; empty for the first. */
  readonly separator: string;
  readonly inQuery: boolean;
  /** One more than there are names, each possibly empty. */
  readonly literals: string[];
  readonly names: string[];
}

/** `{?a,b}` or `{&a,b}`: pairs in any order, each at most once. */
interface QueryForm {
  readonly separator: '?' | '&';
  readonly names: Set<string>;
}

interface Pattern {
  readonly segments: Segment[];
  query?: QueryForm;
  /** The variable of `{#a}`. */
  fragment?: string;
}

/**
 * Parse `template`. A variable is one percent-encoded string, which has no separator ("/", "?", "#" and, in a query, "&")
 * unencoded and is not empty outside `{?…}`; of two in one path segment the first is as short as can be. "%2F" decodes to a
 * value with a "/": who makes a path of a variable must check it.
 *
 * | expression | matches |
 * | --- | --- |
 * | `{a}`, `{a,b}` | the variables, with a comma between |
 * | `{/a,b}`, `{.a,b}` | "/" or "." before each |
 * | `{?a,b}`, `{&a,b}` | pairs in any order; an absent one is missing from the result. Nothing but `{&…}` and `{#…}` follows |
 * | `{#a}` | "#" and the fragment, or nothing. Only at the end |
 * | `{a*}` | as without "*", which has no effect on a string |
 *
 * URIs are equal as RFC 3986, 6.2.2 says: "é" and "%C3%A9", "%2d" and "-"; scheme and host as they are written.
 *
 * @throws {TypeError} naming the template and what to write instead, for the rest of RFC 6570 (`{+a}`, `{;a}`, `{a:3}`),
 *   two variables with nothing between, a name used twice, and what is no template at all.
 */
export function parseUriTemplate(template: string): UriTemplate {
  const segments: Segment[] = [{ separator: '', inQuery: false, literals: [''], names: [] }];
  const pattern: Pattern = { segments };
  const variableNames: string[] = [];

  for (const part of template.split(/(\{[^{}]*\})/)) {
    if (part.startsWith('{') && part.endsWith('}')) addExpression(part);
    else if (part !== '') addLiteral(part);
  }
  return { template, variableNames, match: (uri) => matchTemplate(pattern, uri) };

  function addLiteral(literal: string): void {
    const fault = /[{}]|%(?![0-9A-Fa-f]{2})|\p{Cs}/u.exec(literal);
    if (fault) throw misuse(`"${fault[0]}" must be a part of an expression or percent-encoded`);
    refuseAfterForms();
    for (const character of normalize(literal)) {
      const { inQuery, literals } = lastOf(segments);
      if (isSeparator(character.charCodeAt(0), inQuery)) {
        const startsQuery = character === '?' || (inQuery && character !== '#');
        segments.push({ separator: character, inQuery: startsQuery, literals: [''], names: [] });
      } else {
        literals[literals.length - 1] += character;
      }
    }
  }

  function addVariable(name: string): void {
    refuseAfterForms();
    const { literals, names } = lastOf(segments);
    if (names.length > 0 && lastOf(literals) === '') {
      throw misuse(`nothing separates {${lastOf(names)}} from {${name}}; put a literal between`);
    }
    names.push(name);
    literals.push('');
  }

  function refuseAfterForms(): void {
    if (pattern.query === undefined && pattern.fragment === undefined) return;
    throw misuse('only {&…} and {#…} may follow {?…} or {&…}, and nothing may follow {#…}');
  }

  function addExpression(expression: string): void {
    const [, operator = '', list = ''] = /^\{([^A-Za-z0-9_]?)(.*)\}$/s.exec(expression) ?? [];
    const names = list.split(',').map((variable) => toName(variable, expression));
    if (operator === '' || operator === '/' || operator === '.') {
      names.forEach((name, index) => {
        if (operator !== '' || index > 0) addLiteral(operator || ',');
        addVariable(name);
      });
    } else if (operator === '?' || operator === '&') {
      addQuery(operator, names, expression);
    } else if (operator === '#' && names.length === 1 && pattern.fragment === undefined) {
      pattern.fragment = names[0];
    } else if (operator === '+') {
      throw misuse(`"${expression}" would match separators; write one {variable} for each path segment`);
    } else {
      throw misuse(`"${expression}" is not supported; write {a}, {a,b}, {/a}, {.a}, {?a}, {&a}, or one {#a}`);
    }
  }

  function addQuery(operator: '?' | '&', names: string[], expression: string): void {
    const begun = pattern.query !== undefined || lastOf(segments).inQuery;
    if (pattern.fragment !== undefined) throw misuse(`"${expression}" must stand before {#…}`);
    if (begun !== (operator === '&')) {
      throw misuse(
        `"${expression}" must be {${begun ? '&' : '?'}…}, as the query has ${begun ? '' : 'not '}begun before`,
      );
    }
    pattern.query ??= { separator: operator, names: new Set() };
    for (const name of names) pattern.query.names.add(name);
  }

  function toName(variable: string, expression: string): string {
    const name = /^(\w+(?:\.\w+)*)\*?$/.exec(variable)?.[1];
    if (name === undefined) {
      throw misuse(`"${expression}" must hold names of letters, digits, "_" and inner ".", without ":" and a length`);
    }
    if (variableNames.includes(name)) throw misuse(`the name "${name}" is used twice`);
    variableNames.push(name);
    return name;
  }

  function misuse(what: string): TypeError {
    return new TypeError(`URI template "${template}": ${what}`);
  }
}

function matchTemplate({ segments, query, fragment }: Pattern, uri: string): ReturnType<UriTemplate['match']> {
  const text = normalize(uri);
  const raw = new Map<string, string>();
  let at = 0;
  for (const segment of segments) {
    if (!text.startsWith(segment.separator, at)) return undefined;
    const start = at + segment.separator.length;
    at = segmentEnd(text, start, segment.inQuery);
    if (!matchSegment(segment, text.slice(start, at), raw)) return undefined;
  }
  let separator: string | undefined = query?.separator;
  while (query && text[at] === separator) {
    const start = at + 1;
    at = segmentEnd(text, start, true);
    if (!matchPair(query, text.slice(start, at), raw)) return undefined;
    separator = '&';
  }
  if (fragment !== undefined && text[at] === '#') {
    const start = at + 1;
    at = segmentEnd(text, start, false);
    if (at === start) return undefined;
    raw.set(fragment, text.slice(start, at));
  }
  return at === text.length ? decode(raw) : undefined;
}

/**
 * Literals are found in order, each at its first place. No choice is ever taken back: where a later place would do for
 * what follows, the first does too.
 */
function matchSegment({ literals, names }: Segment, text: string, raw: Map<string, string>): boolean {
  const [first = ''] = literals;
  if (names.length === 0) return text === first;
  const last = lastOf(literals);
  const end = text.length - last.length;
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  for (const [index, name] of names.entries()) {
    const literal = literals[index + 1] as string; // there is one literal more than names
    const next = index === names.length - 1 ? end : text.indexOf(literal, at + 1);
    if (next <= at) return false;
    raw.set(name, text.slice(at, next));
    at = next + literal.length;
  }
  return true;
}

function matchPair({ names }: QueryForm, pair: string, raw: Map<string, string>): boolean {
  const equals = pair.indexOf('=');
  const name = pair.slice(0, equals);
  if (equals === -1 || !names.has(name) || raw.has(name)) return false;
  raw.set(name, pair.slice(equals + 1));
  return true;
}

function segmentEnd(text: string, from: number, inQuery: boolean): number {
  let at = from;
  while (at < text.length && !isSeparator(text.charCodeAt(at), inQuery)) at += 1;
  return at;
}

function isSeparator(code: number, inQuery: boolean): boolean {
  return code === 0x2f /* / */ || code === 0x3f /* ? */ || code === 0x23 /* # */ || (inQuery && code === 0x26); /* & */
}

function decode(raw: Map<string, string>): Record<string, string> | 'malformed' {
  const variables = Object.create(null) as Record<string, string>;
  try {
    for (const [name, value] of raw) variables[name] = decodeURIComponent(value);
  } catch {
    return 'malformed'; // URIError is the only one it throws
  }
  return variables;
}

/** What {@link normalize} leaves alone. */
const plain = /^[\x21-\x24\x26-\x7e]*$/;

/**
 * RFC 3986, 6.2.2: one spelling for equal URIs. What cannot be decoded (a broken escape, half a surrogate pair) becomes
 * "%FF", which no UTF-8 has, so that it stays undecodable whatever stands next to it.
 */
function normalize(uri: string): string {
  if (plain.test(uri)) return uri;
  return uri.replace(/\p{Cs}/gu, '%FF').replace(/[^\x21-\x7e]+|%(?:[0-9A-Fa-f]{2})?/g, (part) => {
    if (part === '%') return '%FF';
    if (!part.startsWith('%')) return encodeURIComponent(part);
    const character = String.fromCharCode(Number.parseInt(part.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : part.toUpperCase();
  });
}

function lastOf<T>(list: readonly T[]): T {
  return list[list.length - 1] as T; // never called with an empty list
}
