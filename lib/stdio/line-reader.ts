/** From bytes to messages: one a line, bounded, UTF-8 and JSON strictly. */
import { ErrorCode, McpError } from '../protocol/errors';

/** What becomes of the bytes. */
export interface LineReaderOptions {
  /** Longer lines are refused once, and skipped to their end. */
  readonly maxLineBytes: number;
  /** The JSON value of a line. */
  onMessage(message: unknown): void;
  /** A line that is no JSON. */
  onRefuse(error: McpError): void;
}

const newline = 0x0a;
const nothing = Buffer.alloc(0);

/** Throws where bytes are not UTF-8. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** A function to feed chunks to, however they are cut. It holds one unfinished line, at most `maxLineBytes` of it. */
export function createLineReader({ maxLineBytes, onMessage, onRefuse }: LineReaderOptions): (chunk: Buffer) => void {
  // One growing buffer, not a list of chunks: a list of one-byte chunks would take a hundred times their size.
  let line = nothing;
  let length = 0;
  let skipping = false;

  function take(part: Buffer): void {
    const end = length + part.length;
    if (end > maxLineBytes) {
      skipping = true;
      line = nothing;
      onRefuse(new McpError(ErrorCode.InvalidRequest, `The message is longer than ${maxLineBytes} bytes`));
      return;
    }
    if (end > line.length) {
      const grown = Buffer.allocUnsafe(Math.min(Math.max(end, 2 * line.length), maxLineBytes));
      line.copy(grown, 0, 0, length);
      line = grown;
    }
    line.set(part, length);
    length = end;
  }

  function finish(): void {
    const whole = line.subarray(0, length);
    const wasSkipped = skipping;
    line = nothing;
    length = 0;
    skipping = false;
    if (wasSkipped) return;
    let message: unknown;
    try {
      const text = decode(whole);
      if (text.trim() === '') return;
      message = parse(text);
    } catch (error) {
      return onRefuse(error as McpError);
    }
    onMessage(message);
  }

  return function feed(chunk) {
    for (let start = 0; ;) {
      const end = chunk.indexOf(newline, start);
      if (!skipping) take(chunk.subarray(start, end < 0 ? undefined : end));
      if (end < 0) return;
      finish();
      start = end + 1;
    }
  };
}

/** @throws {McpError} -32700 */
function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new McpError(ErrorCode.ParseError, 'Parse error: the line is not UTF-8', undefined, { cause });
  }
}

/** @throws {McpError} -32700 */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    // The engine's message quotes the input: it stays in `cause`.
    throw new McpError(ErrorCode.ParseError, 'Parse error: the line is not JSON', undefined, { cause });
  }
}
