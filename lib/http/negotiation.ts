/** What a request says about media types: `Accept` and `Content-Type`. */
import { ErrorCode } from '../protocol/errors';
import type { RequestId } from '../protocol/types';
import { HttpError } from './http-error';

/** The two types a reply can have. */
export interface AcceptedTypes {
  readonly json: boolean;
  readonly sse: boolean;
}

const BOTH: AcceptedTypes = { json: true, sse: true };

/**
 * Say which of the two reply types `accept` allows. Parameters other than `q` are ignored; a header that is absent or
 * names no range refuses nothing.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1
 */
export function acceptedTypes(accept: string | undefined): AcceptedTypes {
  if (accept === undefined) return BOTH;
  // What nearly every MCP client sends.
  if (accept === 'application/json, text/event-stream' || accept === 'text/event-stream, application/json') return BOTH;

  const ranges = new Map<string, boolean>();
  for (const range of normalize(accept).split(',')) {
    const [type = ''] = range.split(';', 1);
    if (type.trim() !== '') ranges.set(type.trim(), ranges.get(type.trim()) === true || !hasZeroWeight(range));
  }
  if (ranges.size === 0) return BOTH;
  const any = ranges.get('*/*') ?? false;
  return {
    json: ranges.get('application/json') ?? ranges.get('application/*') ?? any,
    sse: ranges.get('text/event-stream') ?? ranges.get('text/*') ?? any,
  };
}

/**
 * The types of which a reply can have one.
 *
 * @param id Of the request that is refused, where it is one.
 * @throws {HttpError} 406 if there is none.
 */
export function acceptable(accept: string | undefined, id?: RequestId): AcceptedTypes {
  const accepted = acceptedTypes(accept);
  if (accepted.json || accepted.sse) return accepted;
  const message = 'Accept must list application/json and text/event-stream';
  throw new HttpError(406, ErrorCode.InvalidRequest, message, { id });
}

/**
 * Tell whether `contentType` is JSON in UTF-8: `application/json`, whatever its case and parameters, unless a `charset`
 * names another encoding.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-8.3.1
 */
export function isJsonContentType(contentType: string | undefined): boolean {
  if (contentType === 'application/json') return true;
  if (contentType === undefined) return false;
  const normalized = normalize(contentType);
  // A comma means two values: a gateway in front may have judged the other one.
  if (normalized.includes(',')) return false;
  const [type = '', ...parameters] = normalized.split(';');
  return type.trim() === 'application/json' && parameters.every(namesNoOtherCharset);
}

function hasZeroWeight(range: string): boolean {
  return /;\s*q=0(?:\.0*)?\s*(?:;|$)/.test(range);
}

function namesNoOtherCharset(parameter: string): boolean {
  const [name = ''] = parameter.split('=', 1);
  return name.trim() !== 'charset' || /^\s*charset=(?:utf-?8|"utf-?8")\s*$/.test(parameter);
}

/** Lower the case, and take from quoted strings what would separate outside of them. */
function normalize(header: string): string {
  const lower = header.toLowerCase();
  // An unclosed string runs to the end, so that the expression never backtracks.
  return lower.includes('"') ? lower.replace(/"(?:\\.?|[^"\\])*"?/g, (quoted) => quoted.replace(/[\\,;]/g, '')) : lower;
}
