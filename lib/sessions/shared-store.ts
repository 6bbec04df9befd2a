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
  /** Something the server says to everybody; `seq` counts all notices of all nodes, up from wherever a store begins. */
  | { readonly kind: 'notice'; readonly from: string; readonly seq: number; readonly notice: SharedNotice }
  /** A stream that this node holds has more to write. */
  | { readonly kind: 'wake'; readonly id: string; readonly streamId: string }
  /** A stream that this node held is read elsewhere now. */
  | { readonly kind: 'taken'; readonly id: string; readonly streamId: string; readonly by: string }
  /** `by` has a client that has seen more of a reply of this node than the store has been told. */
  | {
      readonly kind: 'untold';
      readonly id: string;
      readonly streamId: string;
      readonly position: number;
      readonly by: string;
    }
  /** The answer, where it is not about to be told: no client can have seen that. */
  | { readonly kind: 'unsaid'; readonly id: string; readonly streamId: string; readonly position: number }
  /** The call of a reply that this node reads closes its connection, after the message at `position`. */
  | { readonly kind: 'letGo'; readonly id: string; readonly streamId: string; readonly position: number }
  /** A question for the client, on the session's standalone stream, which this node reads. */
  | { readonly kind: 'ask'; readonly id: string; readonly json: string }
  /** A question of this node could not be put: the session's standalone stream is read nowhere. */
  | { readonly kind: 'notAsked'; readonly id: string; readonly question: string }
  /** Is this node there? */
  | { readonly kind: 'ping' }
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

/** A message of a stream as it is stored. */
export interface SessionEvent {
  readonly position: number;
  readonly json: string;
  readonly mergeKey?: string | undefined;
}

/** What a node has to add to a reply's stream. */
export interface StreamBatch {
  readonly events: readonly SessionEvent[];
  /** The requests that the reply answers: where the node dies, they are answered by errors. */
  readonly requestIds: readonly RequestId[];
  readonly finished: boolean;
}

/** A stream that this node holds from now on. */
export interface HeldStream {
  /** The node that appends to it; none for a standalone one. */
  readonly owner: string | undefined;
  readonly finished: boolean;
  readonly last: number;
  /** A standalone one: how far the node that held it has written. */
  readonly written: number;
  /** The last notice that is in it. */
  readonly seq: number;
  /** A standalone one: it has been read before. */
  readonly listened: boolean;
}

/** The client has seen more of a reply's stream than its node has told: that is about to, or never will. */
export interface NotYetTold {
  readonly owner: string;
  readonly notYetTold: true;
}

/** What a node adds to a session's standalone stream. */
export interface StandaloneBatch {
  readonly events: readonly { readonly seq: number; readonly json: string; readonly mergeKey?: string | undefined }[];
  /** Unguessable; the same for all batches of one holder. */
  readonly writer: string;
  /** How many events of this writer are in already: none is taken twice, whatever became of the answer. */
  readonly before: number;
}

export interface NoticesSince {
  readonly seq: number;
  readonly notices: { seq: number; notice: SharedNotice; from: string }[];
  /** The last that is forgotten of those that replace nothing, 0 for none. */
  readonly lost: number;
}

/** What has come of a reply's stream. */
export interface ReadStream {
  readonly finished: boolean;
  /** This node holds it. */
  readonly isHeld: boolean;
  readonly events: SessionEvent[];
}

/** Streams and notices of all nodes. */
export interface SharedStreams {
  /**
   * By the node that runs the call, which says so at least every half minute, with events or without.
   *
   * @returns Whether it is told; not if the session has ended, or this node was taken for dead and the call is answered.
   */
  appendReply(id: string, streamId: string, batch: StreamBatch): Promise<'told' | 'ended' | 'abandoned'>;
  /** To the session's standalone stream, by the node that holds it. @returns What has been appended after `read`. */
  appendStandalone(
    id: string,
    batch: StandaloneBatch,
    read: number,
    written: number,
  ): Promise<SessionEvent[] | 'ended' | 'taken'>;
  /**
   * Hold a stream on this node. Where that is not possible, whoever holds it goes on.
   *
   * @param after What the client has seen.
   * @returns Undefined if there is no such stream, or no such event.
   */
  hold(id: string, streamId: string, after: number): Promise<HeldStream | NotYetTold | undefined>;
  /** The node that holds a stream. */
  holder(id: string, streamId: string): Promise<string | undefined>;
  /** A stream that is forgotten is finished. */
  read(id: string, streamId: string, after: number): Promise<ReadStream>;
  /** End a reply's stream whose node is dead, with errors. */
  abandon(id: string, streamId: string, deadNode: string): Promise<void>;
  isAlive(node: string): Promise<boolean>;
  /** A sign of life, every two seconds. */
  beat(): Promise<void>;
  /** @param count Counts this node's notices, up from 1: none is told twice. */
  publish(notice: SharedNotice, count: number): Promise<void>;
  /** What was said after `seq`, in order; of each key the latest, whoever said it (`from` is empty). */
  noticesSince(seq: number): Promise<NoticesSince>;
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
  /**
   * Some of the sessions that have ended by being idle, on whichever node they were opened, and whether there may be more.
   * Each is told to one node, once.
   */
  endIdle(): Promise<{ ended: { id: string; principal: string | undefined }[]; more: boolean }>;
  /** Spend an approval's nonce, once on all nodes. */
  spend(nonce: string, expiresAt: number): Promise<boolean>;
  readonly streams: SharedStreams;
  /** @returns False if that node is gone. */
  send(node: string, message: NodeMessage): Promise<boolean>;
  broadcast(message: NodeMessage): Promise<void>;
  /** The end: this node's connections close, what it held stays for the others. */
  leave(): Promise<void>;
}
