/** The streams of one node of many, standalone and replies', and its signs of life. */
import type { RequestId } from '../protocol/types';
import { Failures } from './failures';
import type { HeldOptions } from './held-options';
import { Loop } from './loop';
import { NodeNotices } from './node-notices';
import { NodeReplies } from './node-replies';
import { NodeStandalones } from './node-standalones';
import { standaloneStreamId } from './session';
import type { Session, SessionEndReason } from './session';
import type { NodeMessage, SharedNotice, SharedPart } from './shared-store';
import type { Stream, StreamLimits } from './stream';

/** Records read at once. */
const reloadLimit = 100;

/** Signs of life, and looks at those of others. */
const beatMs = 2_000;

export interface NodeStreamsOptions {
  readonly shared: SharedPart;
  readonly limits: StreamLimits;
  /** Settles when the session has ended; never rejects. */
  readonly fail: (session: Session, reason: SessionEndReason) => Promise<void>;
  /** Read a session's record again. */
  readonly reload: (session: Session) => Promise<void>;
  readonly onError: (error: unknown) => void;
  /** Hears every notice of other nodes. */
  readonly hear: (notice: SharedNotice) => void;
}

/** Owns the copies of a mount's streams; each goes with its session. Ends with {@link NodeStreams.end}. */
export class NodeStreams {
  readonly #options: NodeStreamsOptions;
  readonly #replies: NodeReplies;
  readonly #standalones: NodeStandalones;
  /** Sessions whose streams are held, and whose records may have changed; each leaves when its record has been read. */
  readonly #stale = new Set<Session>();
  readonly #notices: NodeNotices;
  readonly #beatFailures: Failures;
  readonly #burials: Loop;
  readonly #timer: NodeJS.Timeout;

  constructor(options: NodeStreamsOptions) {
    this.#options = options;
    const { shared, limits, fail, reload, onError } = options;
    const held = (session: Session, drop: () => void) => this.#held(session, drop);
    this.#replies = new NodeReplies({ shared, limits, held, onError });
    this.#standalones = new NodeStandalones({ shared, held, fail, reload });
    this.#notices = new NodeNotices({
      streams: shared.streams,
      deliver: (seq, notice, from) => this.#deliver(seq, notice, from),
      prepare: () => this.#reload(),
      onLost: (lost) => this.#standalones.failListeners(lost),
      onError,
    });
    void this.#notices.catchUp();
    this.#beatFailures = new Failures(onError);
    this.#burials = new Loop(() => this.#replies.buryDead(), { onError, maxAttempts: 1 });
    this.#timer = setInterval(() => void this.#beat(), beatMs).unref();
    void this.#beat();
  }

  /** Log what a reply's `stream` carries from now on. @returns Whether the store knows of it, once that is known. */
  log(session: Session, streamId: string, stream: Stream, requestIds: () => RequestId[]): Promise<boolean> {
    return this.#replies.log(session, streamId, stream, requestIds);
  }

  /** Read a stream here from now on. @param after What the client has seen. @returns Undefined if there is no such event. */
  async find(session: Session, streamId: string, after: number | undefined): Promise<Stream | undefined> {
    return streamId === standaloneStreamId
      ? this.#standalones.find(session, after)
      : this.#replies.find(session, streamId, after ?? 0);
  }

  #held(session: Session, drop: () => void): HeldOptions {
    const { shared, limits, fail, onError } = this.#options;
    return {
      streams: shared.streams,
      session,
      limits,
      onFull: () => void fail(session, 'inbox-full'),
      onGone(why) {
        drop();
        if (why === 'ended') void fail(session, 'expired');
      },
      onError,
    };
  }

  /** Wherever it is read. @returns False if that is nowhere; the node that finds out later says so. */
  ask(session: Session, json: string): boolean {
    return this.#standalones.ask(session, json);
  }

  /** Nothing of this session is held here any more. */
  forget(session: Session): void {
    this.#standalones.forget(session);
    this.#stale.delete(session);
    this.#replies.forget(session);
  }

  /** Tell all nodes. */
  publish(notice: SharedNotice): void {
    this.#notices.publish(notice);
  }

  receive(message: NodeMessage, session: Session | undefined): void {
    switch (message.kind) {
      case 'notice':
        return this.#notices.heard(message.seq, message.notice, message.from);
      case 'ask':
        return this.#standalones.asked(message.id, message.json, session);
      case 'untold':
        return this.#replies.untold(session, message);
      case 'unsaid':
        return this.#replies.unsaid(message);
      case 'resync':
        for (const held of this.#standalones.sessions) this.#stale.add(held);
        this.#standalones.wakeAll();
        this.#replies.wakeAll();
        void this.#notices.catchUp();
        return;
      default:
        if (session !== undefined) this.#receiveFor(session, message);
    }
  }

  #receiveFor(session: Session, message: NodeMessage): void {
    switch (message.kind) {
      case 'notAsked':
        return session.notAsked(message.question);
      case 'wake':
        return this.#replies.wake(session, message.streamId);
      case 'letGo':
        return this.#replies.letGo(session, message.streamId, message.position);
      case 'taken':
        if (message.streamId === standaloneStreamId) this.#standalones.wake(session);
        else void this.#replies.taken(session, message.streamId, message.by);
    }
  }

  /** What a session has subscribed to could not be read: no notice is told before it is. */
  outdated(session: Session): void {
    this.#stale.add(session);
    void this.#notices.catchUp();
  }

  async #reload(): Promise<void> {
    while (this.#stale.size > 0) {
      const batch = [...this.#stale].slice(0, reloadLimit);
      // It may be outdated again before it is read.
      for (const session of batch) this.#stale.delete(session);
      try {
        await Promise.all(batch.map((session) => this.#options.reload(session)));
      } catch (error) {
        for (const session of batch) if (session.endReason === undefined) this.#stale.add(session);
        throw error;
      }
    }
  }

  #deliver(seq: number, notice: SharedNotice, from: string): void {
    this.#standalones.deliver(seq, notice);
    if (from !== this.#options.shared.node) this.#options.hear(notice);
  }

  /** One does not wait for another: the next may get through where this one does not. */
  async #beat(): Promise<void> {
    this.#replies.keep();
    try {
      await this.#options.shared.streams.beat();
      this.#beatFailures.clear();
      this.#burials.run();
    } catch (error) {
      this.#beatFailures.note(error);
    }
  }

  /** Settles when what ran and was said here is told, or after `graceMs`. */
  async end(graceMs: number): Promise<void> {
    clearInterval(this.#timer);
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<void>((resolve) => (timer = setTimeout(resolve, graceMs)));
    await Promise.race([Promise.all([this.#replies.told, this.#notices.told]), tooLate]);
    clearTimeout(timer);
    this.#standalones.end();
    this.#replies.end();
    this.#notices.end();
    this.#burials.end();
  }
}
