/** Media types in `Accept` and `Content-Type`. */
import { acceptable, acceptedTypes, isJsonContentType } from '../../lib/http/negotiation';

const both = { json: true, sse: true };
const json = { json: true, sse: false };
const sse = { json: false, sse: true };
const neither = { json: false, sse: false };

// https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1
describe('acceptedTypes', () => {
  it.each([
    [undefined, both],
    ['', both],
    [' , ,', both],
    ['application/json, text/event-stream', both],
    ['text/event-stream, application/json', both],
    ['application/json,text/event-stream', both],
    ['Text/Event-Stream;q=0.9 , APPLICATION/JSON', both],
    ['application/json ; q=1.000, text/event-stream ; q=0.001', both],
    ['*/*', both],
    ['*/*;q=0.1', both],
    ['application/*, text/*', both],
    ['text/html, */*;q=0.8', both],
  ])('takes %p for both types', (accept, expected) => {
    expect(acceptedTypes(accept)).toEqual(expected);
  });

  it.each([
    ['application/json', json],
    ['application/*', json],
    ['application/json; charset=utf-8', json],
    ['text/event-stream', sse],
    ['TEXT/*', sse],
  ])('takes %p for one type', (accept, expected) => {
    expect(acceptedTypes(accept)).toEqual(expected);
  });

  it.each([
    'application/jsonx, text/event-stream-bogus',
    'application/json+x, x/text/event-stream',
    'text/html',
    'application',
    '*',
    'application/json text/event-stream',
    'text/html;x="application/json"',
    'text/html;x=",application/json,"',
    String.raw`text/html;x="\",application/json,"`,
    'text/html;x=",application/json',
  ])('finds neither type in %p', (accept) => {
    expect(acceptedTypes(accept)).toEqual(neither);
  });

  it.each([
    ['application/json;q=0, text/event-stream', sse],
    ['application/json, text/event-stream;q=0', json],
    ['application/json; q=0.000, text/event-stream', sse],
    ['application/json;Q=0 , text/event-stream', sse],
    ['application/json;x=";q=0", text/event-stream', both],
    ['application/json;q=0;x=1, text/event-stream', sse],
    ['application/json;q=0.01, text/event-stream', both],
    ['*/*;q=0', neither],
  ])('takes a weight of zero for a refusal: %p', (accept, expected) => {
    expect(acceptedTypes(accept)).toEqual(expected);
  });

  it.each([
    ['application/json;q=0, */*', sse],
    ['*/*, application/json;q=0', sse],
    ['*/*;q=0, application/json', json],
    ['application/*;q=0, */*', sse],
    ['application/json, application/*;q=0', json],
    ['text/event-stream;q=0, text/*, application/*', json],
  ])('lets the more specific range decide: %p', (accept, expected) => {
    expect(acceptedTypes(accept)).toEqual(expected);
  });

  it.each([
    '"'.repeat(16_000),
    '\\"'.repeat(8_000),
    `"${'\\'.repeat(16_000)}`,
    ';q=0'.repeat(4_000),
    ','.repeat(16_000),
  ])('reads a header of Node’s full 16 kB in no time: %#', (accept) => {
    const started = performance.now();
    acceptedTypes(accept);
    isJsonContentType(accept);
    expect(performance.now() - started).toBeLessThan(100);
  });
});

describe('acceptable', () => {
  it('gives the types of which a reply can have one', () => {
    expect(acceptable('application/json')).toEqual(json);
    expect(acceptable('text/event-stream')).toEqual(sse);
    expect(acceptable(undefined)).toEqual(both);
  });

  it('throws 406, under the id of the request, where there is none', () => {
    for (const id of [undefined, 'a', 0]) {
      expect(() => acceptable('text/html', id)).toThrow(expect.objectContaining({ status: 406, code: -32600, id }));
    }
  });
});

describe('isJsonContentType', () => {
  // https://www.rfc-editor.org/rfc/rfc9110#section-8.3.1
  it.each([
    'application/json',
    'Application/JSON',
    'application/json;',
    'application/json ; ',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json; Charset="utf-8"',
    'application/json;charset=utf8;profile=x',
    'application/json; profile="a;charset=utf-16,b"',
  ])('takes %p', (contentType) => {
    expect(isJsonContentType(contentType)).toBe(true);
  });

  it.each([
    undefined,
    '',
    'text/plain',
    'text/plain; a=application/json',
    'text/plain;application/json',
    'application/jsonx',
    'application/json+x',
    'xapplication/json',
    'application/json, application/json',
    'application/json; charset=utf-8, text/plain',
    'application/json text/plain',
    '"application/json"',
    'application/"json"',
  ])('refuses %p', (contentType) => {
    expect(isJsonContentType(contentType)).toBe(false);
  });

  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports
  it.each(['utf-16', '"utf-16le"', 'iso-8859-1', '', '"', 'utf-8x', 'utf-8"', 'utf-8; charset=utf-16'])(
    'refuses charset=%s, since messages MUST be UTF-8',
    (charset) => {
      expect(isJsonContentType(`application/json; charset=${charset}`)).toBe(false);
    },
  );
});
