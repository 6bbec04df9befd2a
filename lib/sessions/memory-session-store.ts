/** Sessions in this process's memory: the default store. */
import type { SessionRecord, SessionStore } from './session-store';

/** Keeps sessions in memory; they end with the process. Bounded by the mount's `maxSessions`. */
export class MemorySessionStore implements SessionStore {
  readonly #records = new Map<string, SessionRecord>();

  create(record: SessionRecord): void {
    this.#records.set(record.id, record);
  }

  get(id: string): SessionRecord | undefined {
    return this.#records.get(id);
  }

  update(record: SessionRecord): void {
    if (this.#records.has(record.id)) this.#records.set(record.id, record);
  }

  delete(id: string): void {
    this.#records.delete(id);
  }
}
