/** The server's notifications, handed to every iterator that was there when they came. */
import type { JsonRpcNotification } from '../protocol/types';

/** What one iterator may have unread. */
const limit = 10_000;

/** One iterator's unread notifications, and who waits for the next. */
interface Reader {
  unread: JsonRpcNotification[];
  wake: () => void;
}

/** All iterators of one client. Ends with {@link Notices.close}. */
export class Notices {
  readonly #readers = new Set<Reader>();
  #closed = false;

  add(notification: JsonRpcNotification): void {
    for (const { unread, wake } of this.#readers) {
      // One too many is enough to know of; its reader says so.
      if (unread.length <= limit) unread.push(notification);
      wake();
    }
  }

  /** Hear from now on. The iterator ends with the client, or when its loop is left. */
  subscribe(): AsyncIterableIterator<JsonRpcNotification> {
    const reader: Reader = { unread: [], wake: () => undefined };
    if (!this.#closed) this.#readers.add(reader);
    const readers = this.#readers;
    return {
      [Symbol.asyncIterator]() {
        return this;
      },
      async next() {
        while (reader.unread.length === 0 && readers.has(reader))
          await new Promise<void>((resolve) => (reader.wake = resolve));
        if (reader.unread.length > limit) throw new Error(`More than ${limit} notifications are unread`);
        const value = reader.unread.shift();
        return value === undefined ? { done: true, value } : { done: false, value };
      },
      async return() {
        readers.delete(reader);
        reader.unread = [];
        reader.wake();
        return { done: true, value: undefined };
      },
    };
  }

  /** What is unread can still be read; then the iterators end. */
  close(): void {
    this.#closed = true;
    const readers = [...this.#readers];
    this.#readers.clear();
    for (const { wake } of readers) wake();
  }
}
