/** One server-to-client stream: numbered messages, written to whatever socket is attached, waiting or replayed while none is. */

/** One message of a stream. */
export interface StreamEvent {
  /** 1 for the first; what a client resumes after. */
  readonly position: number;
  readonly json: string;
  readonly bytes: number;
  readonly mergeKey: string | undefined;
}

/** Where a stream's messages go: a socket, in practice. */
export interface Sink {
  /** Nothing has left it for so long that nobody seems to read. */
  readonly dead?: boolean;
  /** Write one message; false when the next should wait until {@link Stream.pump} is called. */
  write(event: StreamEvent): boolean;
  /** No more messages will come. */
  close(): void;
}

/** Hears what a stream carries. */
export interface StreamLog {
  append?(event: StreamEvent): void;
  /** No more messages. */
  finish?(): void;
  /** The socket is gone. */
  detached?(): void;
}

/** How much a stream may hold. */
export interface StreamLimits {
  /** Messages and bytes not yet written; one more does not fit. */
  readonly waitingLimit: number;
  readonly waitingBytes: number;
  /** Messages and bytes kept after they were written, for a client that resumes; the oldest go first. 0 keeps none. */
  readonly historyLimit: number;
  readonly historyBytes: number;
}

/** Messages on their way to one client, in order. Bounded by {@link StreamLimits}; ends with {@link Stream.finish} and the last write. */
export class Stream {
  /** History first, then what waits; allocated with the first message. */
  #events: StreamEvent[] | undefined;
  /** How many of `#events` are written. */
  #written = 0;
  #waitingBytes = 0;
  #writtenBytes = 0;
  #lastPosition: number;
  #waitingKeys: Set<string> | undefined;
  #sink: Sink | undefined;
  /** The sink wants no more until it says so. */
  #full = false;
  #finished = false;
  readonly #limits: StreamLimits;
  log: StreamLog | undefined;

  /** @param position The message before the first. */
  constructor(limits: StreamLimits, position = 0) {
    this.#limits = limits;
    this.#lastPosition = position;
  }

  get attached(): boolean {
    return this.#sink !== undefined;
  }

  /** Somebody reads, as far as can be told. */
  get isRead(): boolean {
    return this.#sink !== undefined && this.#sink.dead !== true;
  }

  /** Where messages go now. */
  get sink(): Sink | undefined {
    return this.#sink;
  }

  /** The position of the last message written, in case a client wants to resume right after it. */
  get position(): number {
    return this.#lastPosition - this.waiting;
  }

  /** Has the stream got this far? */
  reaches(position: number): boolean {
    return position <= this.#lastPosition;
  }

  get finished(): boolean {
    return this.#finished;
  }

  /** Messages not yet written. */
  get waiting(): number {
    return (this.#events?.length ?? 0) - this.#written;
  }

  /**
   * Append a message and write it if the socket takes it. A message whose `mergeKey` already waits is dropped: the
   * client will learn of both at once.
   *
   * @param always Append it even where it does not fit: a result is never dropped for notifications.
   * @returns False if it does not fit.
   */
  send(json: string, mergeKey?: string, always = false): boolean {
    if (mergeKey !== undefined && this.#waitingKeys?.has(mergeKey)) return true;
    const bytes = Buffer.byteLength(json);
    const { waitingLimit, waitingBytes } = this.#limits;
    // What the socket takes at once does not wait.
    const waits = this.#sink === undefined || this.#full;
    if (waits && !always && (this.waiting >= waitingLimit || this.#waitingBytes + bytes > waitingBytes)) return false;
    const event = { position: ++this.#lastPosition, json, bytes, mergeKey };
    (this.#events ??= []).push(event);
    this.log?.append?.(event);
    this.#waitingBytes += bytes;
    if (mergeKey !== undefined) (this.#waitingKeys ??= new Set()).add(mergeKey);
    this.#write();
    return true;
  }

  /** Append a message that has its position already; one that is here is not appended twice. @returns False if it does not fit. */
  put({
    position,
    json,
    mergeKey,
  }: Pick<StreamEvent, 'position' | 'json'> & { mergeKey?: string | undefined }): boolean {
    if (position <= this.#lastPosition) return true;
    this.#lastPosition = position - 1;
    return this.send(json, mergeKey);
  }

  /** Is a message of this key not yet written? */
  hasWaiting(mergeKey: string): boolean {
    return this.#waitingKeys?.has(mergeKey) ?? false;
  }

  /** No more messages: the socket is closed after the last one is written. */
  finish(): void {
    if (!this.#finished) this.log?.finish?.();
    this.#finished = true;
    this.#write();
  }

  /**
   * Write to `sink` from now on; a sink attached before is closed.
   *
   * @param after Resume: write again what came after this position, as far as it is kept. @default what waits
   */
  attach(sink: Sink, after?: number): void {
    const previous = this.#sink;
    this.#sink = sink;
    previous?.close();
    if (after !== undefined) this.#rewind(after);
    this.pump();
  }

  /** The socket is gone; messages wait. */
  detach(sink: Sink): void {
    if (this.#sink !== sink) return;
    this.#sink = undefined;
    this.log?.detached?.();
  }

  /** The socket takes messages again. */
  pump(): void {
    this.#full = false;
    this.#write();
  }

  #write(): void {
    const events = this.#events;
    if (events !== undefined) {
      while (this.#sink !== undefined && !this.#full && this.#written < events.length) {
        const event = events[this.#written]!;
        this.#countWritten(event);
        this.#full = !this.#sink.write(event);
      }
      this.#trimHistory(events);
    }
    if (this.#finished && this.waiting === 0) this.close();
  }

  /** Let the socket go, whatever waits. */
  close(): void {
    const sink = this.#sink;
    this.#sink = undefined;
    sink?.close();
  }

  /** It goes on elsewhere: nothing is written from here any more, and whatever is attached from now on is closed at once. */
  leave(): void {
    this.log = this.#events = this.#waitingKeys = undefined;
    this.#written = this.#waitingBytes = this.#writtenBytes = 0;
    this.#finished = true;
    this.close();
  }

  #rewind(after: number): void {
    for (const events = this.#events; this.#written > 0;) {
      const event = events![this.#written - 1]!;
      if (event.position <= after) break;
      this.#written -= 1;
      this.#writtenBytes -= event.bytes;
      this.#waitingBytes += event.bytes;
    }
    // The other way round: the client has seen messages that we thought unwritten.
    for (const events = this.#events; events !== undefined && this.#written < events.length;) {
      const event = events[this.#written]!;
      if (event.position > after) break;
      this.#countWritten(event);
    }
  }

  #countWritten({ bytes, mergeKey }: StreamEvent): void {
    this.#written += 1;
    this.#waitingBytes -= bytes;
    this.#writtenBytes += bytes;
    if (mergeKey !== undefined) this.#waitingKeys?.delete(mergeKey);
  }

  #trimHistory(events: StreamEvent[]): void {
    const { historyLimit, historyBytes } = this.#limits;
    let surplus = 0;
    while (surplus < this.#written && (this.#written - surplus > historyLimit || this.#writtenBytes > historyBytes)) {
      this.#writtenBytes -= events[surplus]!.bytes;
      surplus += 1;
    }
    if (surplus > 0) {
      events.splice(0, surplus);
      this.#written -= surplus;
    }
  }
}
