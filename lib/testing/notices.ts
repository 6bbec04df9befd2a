/** The server's notifications, handed to every iterator that was there when they came. */
import type { JsonRpcNotification } from '../protocol/types';

/** What one iterator may have unread. */
const limit = 10_000;

/** One iterator's unread notifications, and who waits for one. */
interface Reader {
  unread: JsonRpcNotification[];
  waiting: (() => void)[];
}

function wake({ waiting }: Reader): void {
  for (const look of waiting.splice(0)) look();
}

/** All iterators of one client. Ends with {@link Notices.close}. */
export class Notices {
  readonly #readers = new Set<Reader>();
  #closed = false;

  add(notification: JsonRpcNotification): void {
    for (const reader of this.#readers) {
      // One too many is enough to know of; its reader says so.
      if (reader.unread.length <= limit) reader.unread.push(notification);
      wake(reader);
    }
  }

  /** Hear from now on. The iterator ends with the client, or when its loop is left. */
  subscribe(): AsyncIterableIterator<JsonRpcNotification> {
    const reader: Reader = { unread: [], waiting: [] };
    if (!this.#closed) this.#readers.add(reader);
    const readers = this.#readers;
    return {
      [Symbol.asyncIterator]() {
        return this;
      },
      async next() {
        while (reader.unread.length === 0 && readers.has(reader))
          await new Promise<void>((resolve) => reader.waiting.push(resolve));
        if (reader.unread.length > limit) throw new Error(`More than ${limit} notifications are unread`);
        const value = reader.unread.shift();
        return value === undefined ? { done: true, value } : { done: false, value };
      },
      async return() {
        readers.delete(reader);
        reader.unread = [];
        wake(reader);
        return { done: true, value: undefined };
      },
    };
  }

  /** What is unread can still be read; then the iterators end. */
  close(): void {
    this.#closed = true;
    const readers = [...this.#readers];
    this.#readers.clear();
    for (const reader of readers) wake(reader);
  }
}
