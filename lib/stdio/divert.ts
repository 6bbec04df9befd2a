/** Keeps stdout for the protocol: what other code prints there goes to stderr. */
import type { Writable } from 'node:stream';

/** The one way left to a diverted stream. */
export interface Diverted {
  /** Write to the stream itself. */
  write(text: string): boolean;
  /** Give the stream back. */
  restore(): void;
}

/**
 * Send everything that is written to `stream` from now on (`console.log` writes to it as well) to `instead`, except what
 * comes through the returned `write`.
 */
export function divert(stream: Writable, instead: Writable): Diverted {
  const original = stream.write;
  const diverted = function write(...args: Parameters<Writable['write']>): boolean {
    instead.write(...args);
    // "Go on": a false would make the writer wait for a 'drain' of this stream that does not come.
    return true;
  } as Writable['write'];
  stream.write = diverted;
  return {
    write: (text) => original.call(stream, text, 'utf8'),
    restore() {
      // Somebody may have put a layer of their own over it since.
      if (stream.write === diverted) stream.write = original;
    },
  };
}
