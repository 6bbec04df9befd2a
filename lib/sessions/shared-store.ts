/** The seam to a store that several processes share: what it does for a mount beyond keeping records. */
import type { JsonRpcNotification, JsonRpcResponse, RequestId } from '../protocol/types';
import type { SessionEndReason } from './session';
import type { SessionRecord } from './session-store';

/** A notice on its way through all nodes; see `Notice` of the core. */
export interface SharedNotice {
  readonly message: JsonRpcNotification;
  readonly mergeKey?: string | undefined;
  readonly uri?: string | undefined;
}

/** What one node hears of the others, and of the store. */
export type NodeMessage =
  /** A session has ended. */
  | { readonly kind: 'ended'; readonly id: string; readonly reason: SessionEndReason }
  /** A session's data has changed. */
  | { readonly kind: 'changed'; readonly id: string }
  /** The answer to a question that this node has asked. */
  | { readonly kind: 'answer'; readonly id: string; readonly response: JsonRpcResponse }
  /** The client wants no answer to this call any more. */
  | { readonly kind: 'cancel'; readonly id: string; readonly requestId: RequestId; readonly reason: string }
  /** Something the server says to everybody; `seq` counts all notices of all nodes, up from 1. */
  | { readonly kind: 'notice'; readonly from: string; readonly seq: number; readonly notice: SharedNotice }
  /** A stream that this node holds has more to write. */
  | { readonly kind: 'wake'; readonly id: string; readonly streamId: string }
  /** A stream that this node held is read elsewhere now. */
  | { readonly kind: 'taken'; readonly id: string; readonly streamId: string }
  /** Messages may have been missed: look again at all that is held. */
  | { readonly kind: 'resync' };

/** What a mount tells its store once. */
export interface SharedSettings {
  readonly maxSessions: number;
  readonly maxSessionsPerPrincipal: number;
  readonly idleMs: number;
  /** At a cap, a session that has been idle for this long makes room. */
  readonly evictableAfterMs: number;
  readonly streamLimit: number;
  readonly streamBytes: number;
  /** How long a finished stream can be resumed. */
  readonly historyMs: number;
  readonly hear: (message: NodeMessage) => void;
  readonly onError: (error: unknown) => void;
}

/** What came of opening a session. */
export interface Opening {
  /** False at a cap, with no session idle for long enough to make room; nothing was kept then. */
  readonly opened: boolean;
  /** Sessions that had to make room; they still have to be ended. */
  readonly evicted: readonly string[];
  /** The last notice that the session cannot have missed. */
  readonly seq: number;
}

/** One node's part in a store that several share. Every function rejects with {@link UnavailableError}, within bounded time. */
export interface SharedPart {
  /** This node's name; unguessable, and another one after every start. */
  readonly node: string;
  /** Begin: called once, by the mount. */
  join(settings: SharedSettings): void;
  /** Keep a new session, within the caps. */
  open(record: SessionRecord): Promise<Opening>;
  /** End a session on all nodes. @returns What it was, or undefined if it had ended already. */
  end(id: string, reason: SessionEndReason): Promise<SessionRecord | undefined>;
  /** The session is in use. @returns False if it has ended. */
  touch(record: SessionRecord): Promise<boolean>;
  /** Spend an approval's nonce, once on all nodes. */
  spend(nonce: string, expiresAt: number): Promise<boolean>;
  /** @returns False if that node is gone. */
  send(node: string, message: NodeMessage): Promise<boolean>;
  broadcast(message: NodeMessage): Promise<void>;
  /** The end: this node's connections close, what it held stays for the others. */
  leave(): Promise<void>;
}
