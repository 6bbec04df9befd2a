import fc from 'fast-check';
import { decodeHeaderValue } from '../../lib/protocol/header-value';

// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#value-encoding
describe('decodeHeaderValue', () => {
  it.each([
    ['us-west1', 'us-west1'],
    ['=?base64?SGVsbG8sIOS4lueVjA==?=', 'Hello, 世界'],
    ['=?base64?IHBhZGRlZCA=?=', ' padded '],
    ['=?base64?bGluZTEKbGluZTI=?=', 'line1\nline2'],
    ['=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=', '=?base64?literal?='],
  ])('MUST decode the example of the text, %j', (value, decoded) => {
    expect(decodeHeaderValue(value)).toBe(decoded);
  });

  it('decodes what a client has encoded, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(decodeHeaderValue(`=?base64?${Buffer.from(text).toString('base64')}?=`)).toBe(text);
      }),
    );
  });

  it('keeps a byte order mark, which is a part of the value', () => {
    expect(decodeHeaderValue('=?base64?77u/YQ==?=')).toBe('\ufeffa');
  });

  it.each([
    ['', ''],
    ['=?base64??=', ''],
  ])('reads %j as the empty string', (value, decoded) => {
    expect(decodeHeaderValue(value)).toBe(decoded);
  });

  it.each([
    ['SGVsbG8=', 'Base64 without markers'],
    ['=?base64?SGVsbG8=', 'no suffix'],
    ['=?base64?SGVsbG8=?= ', 'something after the suffix'],
    ['SGVsbG8=?=', 'no prefix'],
    ['=?BASE64?SGVsbG8=?=', 'the marker in upper case'],
    ['=?utf-8?B?SGVsbG8=?=', 'RFC 2047'],
    ['a\tb c~!', 'tab and space'],
  ])('takes %j as it stands (%s)', (value) => {
    expect(decodeHeaderValue(value)).toBe(value);
  });

  it.each([
    ['=?base64?SGVsbG8?=', 'padding missing'],
    ['=?base64?SGVs!!!bG8=?=', 'outside the alphabet'],
    ['=?base64?SGVs bG8=?=', 'a space'],
    ['=?base64?SGVsbG9=?=', 'trailing bits that are not zero'],
    ['=?base64?SGVsbG8==?=', 'too much padding'],
    ['=?base64?SGVsbA==SGVsbA==?=', 'padding inside'],
    ['=?base64?-_8=?=', 'the URL-safe alphabet'],
    ['=?base64?A?=', 'one digit'],
    ['=?base64?=?=', 'only padding'],
    ['=?base64?wyg=?=', 'not UTF-8'],
    ['=?base64?7aCA?=', 'a surrogate in UTF-8'],
    ['=?base64?wIA=?=', 'overlong UTF-8'],
    ['=?base64?=', 'both markers at once, in one "?"'],
    ['caf\u00e9', 'a latin1 byte'],
    ['\u00e4\u00b8\u0096', 'raw UTF-8, as Node gives it'],
    ['a\u0000b', 'a control character'],
    ['a\nb', 'a line feed'],
    ['a\u007f', 'DEL'],
    ['世', 'beyond latin1'],
  ])('MUST refuse %j (%s)', (value) => {
    expect(decodeHeaderValue(value)).toBeUndefined();
  });
});
