/** A socket as a stream sees it: takes so many messages, then wants to be left alone until it has drained. */
import type { Sink, StreamEvent } from '../../lib/sessions/stream';

export interface FakeSink extends Sink {
  /** What was written, in order. */
  readonly written: StreamEvent[];
  /** The texts of it. */
  texts(): string[];
  /** How often it was closed. */
  closed: number;
  /** Messages it takes before it is full. */
  room: number;
}

/** @param room Messages it takes before it is full; the one that fills it is the last. */
export function createSink(room = Infinity): FakeSink {
  const written: StreamEvent[] = [];
  return {
    written,
    texts: () => written.map(({ json }) => json),
    closed: 0,
    room,
    write(event) {
      written.push(event);
      this.room -= 1;
      return this.room > 0;
    },
    close() {
      this.closed += 1;
    },
  };
}
