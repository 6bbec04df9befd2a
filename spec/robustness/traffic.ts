/** What a fuzzer sends: noise, JSON, and valid traffic of both eras with something changed in it. */
import * as fc from 'fast-check';
import { initializeMessage, modernRequest } from '../support/wire';
import type { Headers } from '../support/wire';
import { latestLegacy, modernRevision, revisions } from '../support/schema';

type Params = Record<string, unknown>;

/** One POST, or whatever its mutation made of it. */
export interface Input {
  /** The headers of a live session go with it. */
  inSession: boolean;
  method: string;
  headers: Headers;
  body: Buffer;
}

const calls: readonly [method: string, params: Params][] = [
  ['ping', {}],
  ['server/discover', {}],
  ['tools/list', {}],
  ['tools/list', { cursor: 'bm90IG91cnM=' }],
  ['tools/call', { name: 'echo', arguments: { text: 'héllo\u2028' } }],
  ['tools/call', { name: 'anything', arguments: { value: [1, { two: null }] } }],
  ['tools/call', { name: 'add', arguments: { a: 1, b: 2 } }],
  ['tools/call', { name: 'report', arguments: {}, _meta: { progressToken: 7 } }],
  ['tools/call', { name: 'fail' }],
  ['tools/call', { name: 'break' }],
  ['tools/call', { name: 'ask', arguments: {} }],
  ['resources/list', {}],
  ['resources/templates/list', {}],
  ['resources/read', { uri: 'file:///readme.txt' }],
  ['resources/read', { uri: 'item://7' }],
  ['resources/subscribe', { uri: 'file:///readme.txt' }],
  ['resources/unsubscribe', { uri: 'file:///readme.txt' }],
  ['prompts/list', {}],
  ['prompts/get', { name: 'greet', arguments: { topic: 'sea' } }],
  [
    'completion/complete',
    {
      ref: { type: 'ref/prompt', name: 'greet' },
      argument: { name: 'topic', value: 'ge' },
      context: { arguments: {} },
    },
  ],
  ['logging/setLevel', { level: 'debug' }],
  ['subscriptions/listen', { notifications: { toolsListChanged: true } }],
];

const ids = fc.oneof(
  fc.integer(),
  fc.string({ maxLength: 8 }),
  fc.constantFrom<unknown>(0, '', null, 1.5, 2 ** 53, {}),
);

const legacyMessages = fc
  .tuple(fc.constantFrom(...calls), ids)
  .map(([[method, params], id]) => ({ jsonrpc: '2.0', id, method, params }));

const modernMessages = fc
  .tuple(fc.constantFrom(...calls), ids, fc.constantFrom({}, { elicitation: {} }, { sampling: {} }))
  .map(([[method, params], id, capabilities]) => modernRequest(method, params, { id, capabilities }));

/** Messages that are no calls. */
const others = fc.oneof(
  fc.constantFrom(...revisions, '2024-01-01', '').map((version) => initializeMessage(version)),
  fc.constantFrom<Params>(
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1, reason: 'enough' } },
    { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: 2 } },
    { jsonrpc: '2.0', method: 'notifications/roots/list_changed' },
    { jsonrpc: '2.0', id: 'q', result: { action: 'accept', content: { name: 'Ada' } } },
    { jsonrpc: '2.0', id: 'q', error: { code: -32603, message: 'no' } },
  ),
);

const keys = fc.constantFrom('__proto__', 'constructor', '_meta', 'id', 'method', 'params', 'toJSON', 'then', 'length');
const anyJson = fc.jsonValue({ maxDepth: 4 });
const odd = fc.oneof(
  anyJson,
  fc.constantFrom<unknown>(null, true, -0, 1e308, 2 ** 63, '', '\u0000', '\ud800', [], {}, [[]], 'x'.repeat(70_000)),
);

/** Change one place of a JSON value: replace it, take it away, or put something beside it. */
function changeAt(
  value: unknown,
  path: readonly number[],
  what: 'replace' | 'remove' | 'add',
  by: unknown,
  key: string,
) {
  const copy: unknown = structuredClone(value);
  let parent: Params | undefined;
  let last = '';
  let here: unknown = copy;
  for (const step of path) {
    const names = typeof here === 'object' && here !== null ? Object.keys(here) : [];
    if (names.length === 0) break;
    parent = here as Params;
    last = names[step % names.length]!;
    here = parent[last];
  }
  if (parent === undefined) return what === 'replace' ? by : copy;
  if (what === 'replace') parent[last] = by;
  else if (what === 'remove') delete parent[last];
  // As JSON.parse makes it: an own property, even of this name. The length of an array is none that JSON has.
  else if (!(Array.isArray(parent) && key === 'length'))
    Object.defineProperty(parent, key, { value: by, enumerable: true, configurable: true, writable: true });
  return copy;
}

function changed(messages: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const path = fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 5 });
  const what = fc.constantFrom('replace', 'remove', 'add');
  return fc.tuple(messages, path, what, odd, keys).map(([message, ...change]) => changeAt(message, ...change));
}

/** Messages of the legacy era, most of them with something changed. */
export const legacyValues: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 2, arbitrary: legacyMessages },
  { weight: 5, arbitrary: changed(legacyMessages) },
  { weight: 2, arbitrary: changed(others) },
  { weight: 1, arbitrary: others },
  {
    weight: 1,
    arbitrary: fc.array(fc.oneof(legacyMessages, changed(legacyMessages), others, anyJson), { maxLength: 4 }),
  },
  { weight: 1, arbitrary: odd },
);

/** Messages of the modern era, the same way. */
export const modernValues: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 1, arbitrary: modernMessages.map(({ body }) => body) },
  { weight: 3, arbitrary: changed(modernMessages.map(({ body }) => body)) },
);

const headerNames = fc.constantFrom(
  'Accept',
  'Content-Type',
  'Content-Encoding',
  'Mcp-Session-Id',
  'MCP-Protocol-Version',
  'Mcp-Method',
  'Mcp-Name',
  'Last-Event-ID',
  'Origin',
  'Host',
);
/** What Node lets a client send; the rest goes over raw sockets. */
const headerValues = fc.oneof(
  fc.constantFrom(
    '',
    '*/*',
    'text/event-stream',
    'application/json; charset=utf-16',
    'gzip',
    'br',
    '=?base64?////?=',
    '=?base64?8J+YgA==?=',
    'null',
    modernRevision,
    latestLegacy,
    'abc.0.99999999999999999999',
  ),
  fc.string({
    unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code === 0x7f ? 0xff : code)),
    maxLength: 20,
  }),
);

/** Cut, swap and insert bytes. */
const damage = fc.record({ at: fc.nat(), bytes: fc.uint8Array({ maxLength: 6 }), cut: fc.nat({ max: 8 }) });

export function damaged(
  bytes: Buffer,
  { at, bytes: put, cut }: { at: number; bytes: Uint8Array; cut: number },
): Buffer {
  const from = at % (bytes.length + 1);
  return Buffer.concat([bytes.subarray(0, from), put, bytes.subarray(from + cut)]);
}

/** Any number of header lines changed; `undefined` takes one away. */
const headerChanges = fc.oneof(
  { weight: 4, arbitrary: fc.constant({}) },
  { weight: 2, arbitrary: fc.dictionary(headerNames, fc.option(headerValues, { nil: undefined }), { maxKeys: 2 }) },
);

const bodies = (messages: fc.Arbitrary<unknown>) =>
  fc.tuple(messages, fc.option(damage, { freq: 4 })).map(([message, harm]) => {
    const bytes = Buffer.from(JSON.stringify(message) ?? '');
    return harm === null ? bytes : damaged(bytes, harm);
  });

const noise = fc.oneof(
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  fc.json({ maxDepth: 6 }).map((text) => Buffer.from(text)),
);

const verbs = fc.oneof(
  { weight: 12, arbitrary: fc.constant('POST') },
  { weight: 1, arbitrary: fc.constantFrom('GET', 'DELETE', 'OPTIONS', 'PUT', 'HEAD') },
);

/** Requests of both eras, valid, changed or damaged, and noise. */
export const inputs: fc.Arbitrary<Input> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      inSession: fc.constant(true),
      method: verbs,
      body: bodies(legacyValues),
      headers: headerChanges,
    }),
  },
  {
    weight: 4,
    arbitrary: fc
      .tuple(verbs, modernMessages, bodies(modernValues), headerChanges, fc.boolean())
      .map(([method, { headers, body }, other, over, matching]) => ({
        inSession: false,
        method,
        headers: { ...headers, ...over },
        body: matching ? Buffer.from(JSON.stringify(body)) : other,
      })),
  },
  {
    weight: 2,
    arbitrary: fc.record({ inSession: fc.boolean(), method: verbs, body: noise, headers: headerChanges }),
  },
);

/** Bytes for a socket: a request as HTTP has it with harm done to it, or noise. */
export const rawRequests: fc.Arbitrary<(path: string, session: Headers) => Buffer> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(inputs, fc.option(damage, { freq: 6 }), fc.option(damage, { freq: 2 }))
      .map(([input, ...harms]) => (path: string, session: Headers) => {
        const whole = bytesOf(input, path, session);
        return harms.reduce((bytes, harm) => (harm === null ? bytes : damaged(bytes, harm)), whole);
      }),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }).map((bytes) => () => Buffer.from(bytes)) },
);

function bytesOf({ inSession, method, headers, body }: Input, path: string, session: Headers): Buffer {
  const sent = { Host: '127.0.0.1', 'Content-Type': 'application/json', ...(inSession ? session : {}), ...headers };
  const lines = Object.entries(sent).map(([name, value]) =>
    value === undefined ? '' : `${name}: ${String(value)}\r\n`,
  );
  const head = `${method} ${path} HTTP/1.1\r\nContent-Length: ${body.length}\r\n${lines.join('')}\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), body]);
}
