/** Decodes the values of `Mcp-Name` and `Mcp-Param-*` headers. */
import { isUtf8 } from 'node:buffer';

const prefix = '=?base64?';
const suffix = '?=';
/** Visible ASCII, space and tab. Node gives other bytes as latin1 characters, which this refuses too. */
const fieldValue = /^[\t\x20-\x7e]*$/;

/**
 * Decode a header's value: `=?base64?…?=` as Base64 of UTF-8, anything else as it stands. Undefined when it is invalid:
 * other bytes than visible ASCII, space and tab, or Base64 that is not the one encoding of valid UTF-8. The markers are
 * case-sensitive, and a value with the first alone is a literal.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#value-encoding
 */
export function decodeHeaderValue(value: string): string | undefined {
  if (!fieldValue.test(value)) return undefined;
  if (!value.startsWith(prefix) || !value.endsWith(suffix)) return value;
  // "=?base64?=": a literal that clients must encode, since it starts and ends as the markers do.
  if (value.length < prefix.length + suffix.length) return undefined;
  const encoded = value.slice(prefix.length, -suffix.length);
  const bytes = Buffer.from(encoded, 'base64');
  // Node's decoder skips what it does not know: only a round trip proves alphabet, padding and trailing bits.
  if (bytes.toString('base64') !== encoded || !isUtf8(bytes)) return undefined;
  return bytes.toString('utf8');
}
