/** A legacy client's live state: its data, what it has running, its streams. Knows no HTTP. */
import { createHash } from 'node:crypto';
import { nanoid } from 'nanoid';
import { findRevision } from '../protocol/revisions';
import type { Revision } from '../protocol/revisions';
import { loggingLevels } from '../protocol/types';
import type { JsonRpcNotification, JsonRpcResponse, LoggingLevel, RequestId } from '../protocol/types';
import type { SessionRecord } from './session-store';
import { Stream } from './stream';
import type { StreamLimits } from './stream';

/** Why a session ended. */
export type SessionEndReason = 'client' | 'idle' | 'evicted' | 'inbox-full' | 'expired' | 'shutdown';

/** A running call that can be told to stop. */
export interface RunningCall {
  readonly requestId: RequestId;
  /** The client wants no answer any more. */
  cancel(reason: unknown): void;
  /** The session ends: the call stops, and its client is told why. */
  sessionEnded(reason: SessionEndReason): void;
}

/** The way to what a session has on other nodes, where a store is shared. */
export interface Elsewhere {
  /** This node's name: part of its questions' ids, so that answers find their way. */
  readonly node: string;
  /** Hand an answer to the node that asked. @returns False if that is gone, or never was. */
  answer(response: JsonRpcResponse): Promise<boolean>;
  cancel(id: RequestId, reason: unknown): Promise<void>;
  /** Let other nodes know what `stream` carries. @returns Whether they can resume it, once that is known. */
  log(streamId: string, stream: Stream, requestIds: () => RequestId[]): Promise<boolean>;
  /** Ask on the session's standalone stream, wherever it is read. @returns False if it is read nowhere. */
  ask(json: string): boolean;
}

/** A session's messages that no reply carries: the standalone stream (GET). */
export const standaloneStreamId = '0';

/** Finished replies that a session keeps for a client that resumes. */
const maxFinishedStreams = 32;

/** Until a client says otherwise (`logging/setLevel`), it hears from this level up. */
export const defaultLogLevel: LoggingLevel = 'info';

/** Characters of an elicitation's id that say whose it is. */
const tagLength = 16;

type Settle = (answer: JsonRpcResponse | 'unreachable' | undefined) => void;

/** One live session. Owned by the transport that opened it; everything it holds ends with {@link Session.end}. */
export class Session {
  /** Its data, as last heard of: a store that is shared may know more. */
  record: SessionRecord;
  readonly revision: Revision;
  /** When it was last heard of, in milliseconds of `Date.now()`. */
  lastActiveAt: number;
  endReason: SessionEndReason | undefined;
  elsewhere: Elsewhere | undefined;
  /** A GET has been opened at least once. */
  listened = false;
  /** When a live GET stream was last replaced by another. */
  replacedAt: number | undefined;
  /** Few at a time, and often none. */
  #calls: RunningCall[] | undefined;
  #questions: Map<string, Settle> | undefined;
  #streams: Map<string, Stream> | undefined;
  /** When each finished stream finished. */
  #finished: Map<string, number> | undefined;
  #tag: string | undefined;
  #answerable = true;
  #lastStream = 0;
  readonly #limits: StreamLimits;

  constructor(record: SessionRecord, limits: StreamLimits, now: number) {
    this.record = record;
    this.revision = findRevision(record.revision)!;
    this.#limits = limits;
    this.lastActiveAt = now;
  }

  /** Nothing runs, waits for an answer, or is open. */
  get isIdle(): boolean {
    if (this.callCount > 0 || (this.#questions?.size ?? 0) > 0) return false;
    for (const stream of this.#streams?.values() ?? []) if (stream.isRead) return false;
    return true;
  }

  /** This node collects what the client's stream is to carry. */
  get isHeld(): boolean {
    return (this.#streams?.size ?? 0) > 0;
  }

  /** Is what the server says to everybody for this client? */
  wants({ message, uri }: { readonly message: JsonRpcNotification; readonly uri?: string | undefined }): boolean {
    const { initialized, subscriptions, logLevel = defaultLogLevel } = this.record;
    if (!initialized) return false;
    const { method, params } = message;
    switch (method) {
      case 'notifications/elicitation/complete':
        // 2025-11-25, client/elicitation: MUST only be sent to the client that was asked.
        return this.revision.urlElicitationCallbacks && this.isElicitationId(params?.elicitationId);
      case 'notifications/message':
        return loggingLevels.indexOf(params?.level as LoggingLevel) >= loggingLevels.indexOf(logLevel);
      default:
        return uri === undefined || subscriptions.includes(uri);
    }
  }

  /** Unique; whoever knows the session can tell that it is its own, on whatever node. The session's id cannot be read in it. */
  createElicitationId(): string {
    return `${this.#elicitationTag}${nanoid()}`;
  }

  /** Was it made for this session? */
  isElicitationId(id: unknown): boolean {
    return typeof id === 'string' && id.startsWith(this.#elicitationTag);
  }

  get #elicitationTag(): string {
    return (this.#tag ??= `${createHash('sha256').update(`elicitation ${this.record.id}`).digest('base64url').slice(0, tagLength)}.`);
  }

  /** Calls that run, those under a reused id too. */
  get callCount(): number {
    return this.#calls?.length ?? 0;
  }

  /** Note a running call, so that `notifications/cancelled` finds it. Clients that reuse an id cancel all its calls. */
  addCall(call: RunningCall): void {
    if (this.#calls === undefined) this.#calls = [call];
    else this.#calls.push(call);
  }

  removeCall(call: RunningCall): void {
    const calls = this.#calls;
    const at = calls?.indexOf(call) ?? -1;
    if (calls === undefined || at < 0) return;
    if (calls.length === 1) this.#calls = undefined;
    else calls.splice(at, 1);
    // However long it ran: the session was not idle meanwhile.
    this.lastActiveAt = Date.now();
  }

  /** Cancel a call, wherever it runs. @returns False if no such call runs: it may have ended, or never was. */
  cancelCall(id: RequestId, reason: unknown): boolean | Promise<void> {
    return this.cancelHere(id, reason) || (this.elsewhere?.cancel(id, reason) ?? false);
  }

  /** @returns False if no such call runs on this node. */
  cancelHere(id: RequestId, reason: unknown): boolean {
    const calls = this.#calls?.filter(({ requestId }) => requestId === id) ?? [];
    for (const call of calls) call.cancel(reason);
    return calls.length > 0;
  }

  /** Unguessable: whoever knows it has been asked. */
  createQuestionId(): string {
    return this.elsewhere === undefined ? nanoid() : `${this.elsewhere.node}.${nanoid()}`;
  }

  /**
   * Wait for the answer to question `id`; `settle` hears once, undefined when the session ends first, and `'unreachable'`
   * where another node finds that the client cannot be asked.
   *
   * @returns False if no answer will come any more.
   */
  addQuestion(id: string, settle: Settle): boolean {
    if (!this.#answerable) return false;
    (this.#questions ??= new Map()).set(id, settle);
    return true;
  }

  /** @returns False if it has been answered, or was never asked. */
  removeQuestion(id: string): boolean {
    return this.#questions?.delete(id) ?? false;
  }

  /** The question could not be put to anybody. */
  notAsked(id: string | undefined): void {
    const settle = id === undefined ? undefined : this.#questions?.get(id);
    if (settle === undefined) return;
    this.#questions!.delete(id!);
    settle('unreachable');
  }

  /** @returns False if nothing waits for it: a late answer, a second one, or a guess. */
  answer(response: JsonRpcResponse): boolean | Promise<boolean> {
    const settle = typeof response.id === 'string' ? this.#questions?.get(response.id) : undefined;
    if (settle === undefined) return this.elsewhere?.answer(response) ?? false;
    this.#questions!.delete(response.id as string);
    settle(response);
    return true;
  }

  /** No answer will come any more: all questions settle without one, and none is taken. */
  leaveUnanswered(): void {
    this.#answerable = false;
    for (const settle of this.#questions?.values() ?? []) settle(undefined);
    this.#questions?.clear();
  }

  /** The standalone stream, made on first use. */
  get standalone(): Stream {
    return this.findStream(standaloneStreamId) ?? this.#addStream(standaloneStreamId);
  }

  /**
   * A stream for one reply, with the id that resumes it, and when it does where that is not at once.
   *
   * @param requestIds The requests it answers.
   */
  openStream(requestIds: () => RequestId[] = () => []): {
    id: string;
    stream: Stream;
    resumable: Promise<boolean> | undefined;
  } {
    // Other nodes count for themselves.
    const id = this.elsewhere === undefined ? (++this.#lastStream).toString(36) : nanoid(10);
    const stream = this.#addStream(id);
    return { id, stream, resumable: this.elsewhere?.log(id, stream, requestIds) };
  }

  /** A stream that is kept elsewhere, and read here. */
  adoptStream(id: string, stream: Stream): void {
    (this.#streams ??= new Map()).set(id, stream);
  }

  /** It is read elsewhere now. */
  dropStream(id: string): void {
    const stream = this.#streams?.get(id);
    this.#streams?.delete(id);
    this.#finished?.delete(id);
    stream?.close();
  }

  findStream(id: string): Stream | undefined {
    return this.#streams?.get(id);
  }

  /** Messages waiting to be written, on all streams. */
  get waiting(): number {
    let waiting = 0;
    for (const stream of this.#streams?.values() ?? []) waiting += stream.waiting;
    return waiting;
  }

  /** A reply's stream has its last message; it can be resumed for a while. */
  streamFinished(id: string, now: number): void {
    const finished = (this.#finished ??= new Map());
    finished.set(id, now);
    if (finished.size <= maxFinishedStreams) return;
    for (const oldest of [...finished.keys()]) if (finished.size > maxFinishedStreams) this.#forgetFinished(oldest);
  }

  /** Forget the streams that finished before `before`. */
  dropFinished(before: number): void {
    for (const [id, finishedAt] of this.#finished ?? []) if (finishedAt <= before) this.#forgetFinished(id);
  }

  #forgetFinished(id: string): void {
    const stream = this.#streams?.get(id);
    // One that is being read right now goes when it has been.
    if (stream?.isRead) return;
    stream?.close();
    this.#finished?.delete(id);
    this.#streams?.delete(id);
  }

  #addStream(id: string): Stream {
    const stream = new Stream(this.#limits);
    (this.#streams ??= new Map()).set(id, stream);
    return stream;
  }

  /** End everything: questions go unanswered, calls hear their signal, streams close. A second call does nothing. */
  end(reason: SessionEndReason): void {
    if (this.endReason !== undefined) return;
    this.endReason = reason;
    this.leaveUnanswered();
    for (const call of [...(this.#calls ?? [])]) call.sessionEnded(reason);
    // A running call's stream ends with its answer; the others now.
    for (const [id, stream] of this.#streams ?? []) if (stream.finished || id === standaloneStreamId) stream.close();
    this.#streams?.clear();
    this.#finished?.clear();
  }
}
