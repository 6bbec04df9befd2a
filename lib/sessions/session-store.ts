/** The seam between live sessions and where their data lives. */
import type { SharedPart } from './shared-store';
import type { ClientCapabilities, Implementation, LoggingLevel } from '../protocol/types';

/** What is stored of a session. */
export interface SessionRecord {
  /** Unguessable, visible ASCII; given out once, never taken from a client. */
  readonly id: string;
  /** The protocol revision agreed on. */
  readonly revision: string;
  /** Who opened it; nobody else may use it. */
  readonly principal: string | undefined;
  readonly clientInfo: Implementation;
  readonly capabilities: ClientCapabilities;
  /** The client has said `notifications/initialized`. */
  initialized: boolean;
  /** Set by `logging/setLevel`. */
  logLevel: LoggingLevel | undefined;
  /** Resources whose changes the client wants to hear of. */
  subscriptions: readonly string[];
  /** Where a store is shared: the node that reads the session's standalone stream. */
  readonly listensAt?: string;
  /** Where a store is shared: when it was last reported as in use, in milliseconds of the reporting node's `Date.now()`. */
  readonly reportedAt?: number;
}

/** Keeps the data of sessions. A store that several processes share lets any of them answer any request. */
export interface SessionStore {
  /** Keep a new session. */
  create(record: SessionRecord): void | Promise<void>;
  /** The session's data, or undefined if there is none (it ended, or never was). */
  get(id: string): SessionRecord | undefined | Promise<SessionRecord | undefined>;
  /** Keep a change of a session that exists; one that has ended stays ended. */
  update(record: SessionRecord): void | Promise<void>;
  /** Forget a session; later requests with its id get 404. */
  delete(id: string): void | Promise<void>;
  /** What else a store does that several processes share; none for a store of one process. */
  readonly shared?: SharedPart;
}
