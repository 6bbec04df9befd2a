/** The streams of one node of many: the sessions' own, which it holds for all nodes while they are read here, and replies'. */
import { UnavailableError } from '../protocol/errors';
import type { RequestId } from '../protocol/types';
import { HeldOwn } from './held-streams';
import type { HeldOptions } from './held-streams';
import { Failures } from './failures';
import { Loop } from './loop';
import { NodeNotices } from './node-notices';
import { NodeReplies } from './node-replies';
import { standaloneStreamId } from './session';
import type { Session, SessionEndReason } from './session';
import type { HeldStream, NodeMessage, SharedNotice, SharedPart } from './shared-store';
import type { Stream, StreamLimits } from './stream';

/** How often a stream is taken elsewhere while it is opened here, before the client is told to come back. */
const maxAttempts = 3;

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
  readonly #owns = new Map<string, HeldOwn>();
  /** Sessions whose streams are held, and whose records may have changed; each leaves when its own has been read. */
  readonly #stale = new Set<Session>();
  readonly #notices: NodeNotices;
  readonly #beatFailures: Failures;
  readonly #burials: Loop;
  readonly #timer: NodeJS.Timeout;

  constructor(options: NodeStreamsOptions) {
    this.#options = options;
    this.#replies = new NodeReplies({
      shared: options.shared,
      limits: options.limits,
      held: (session, drop) => this.#held(session, drop),
      onError: options.onError,
    });
    this.#notices = new NodeNotices({
      streams: options.shared.streams,
      deliver: (seq, notice, from) => this.#deliver(seq, notice, from),
      prepare: () => this.#reload(),
      onLost: (lost) => this.#failListeners(lost),
      onError: options.onError,
    });
    void this.#notices.catchUp();
    this.#beatFailures = new Failures(options.onError);
    this.#burials = new Loop(() => this.#replies.buryDead(), { onError: options.onError, maxAttempts: 1 });
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
      ? this.#findOwn(session, after)
      : this.#replies.find(session, streamId, after ?? 0);
  }

  async #findOwn(session: Session, after: number | undefined): Promise<Stream | undefined> {
    for (let attempts = 0; attempts < maxAttempts; attempts += 1) {
      // Before the others are told: what is said meanwhile is heard here.
      const own = this.#owns.get(session.record.id) ?? this.#addOwn(session);
      const stream = await this.#openOwn(own, after);
      // It may have been taken, or another request have failed with it, while this one waited.
      if (stream === undefined || this.#owns.get(session.record.id) === own) return stream;
    }
    throw new UnavailableError('The stream is wanted on too many processes at once');
  }

  #addOwn(session: Session): HeldOwn {
    const own: HeldOwn = new HeldOwn(this.#held(session, () => this.#dropOwn(own)));
    this.#owns.set(session.record.id, own);
    return own;
  }

  /** @returns Undefined if there is no such event, or the session has ended. */
  async #openOwn(own: HeldOwn, after: number | undefined): Promise<Stream | undefined> {
    const { session } = own.options;
    const isGone = () => this.#owns.get(session.record.id) !== own;
    let held: HeldStream | undefined;
    try {
      held = await own.hold(after ?? 0);
    } finally {
      if (held === undefined && own.isUnused) this.#dropOwn(own);
    }
    if (held === undefined || session.endReason !== undefined) return undefined;
    if (isGone()) return own.stream;
    const isFirst = own.begin(after, held.written);
    session.adoptStream(standaloneStreamId, own.stream);
    if (isFirst) {
      try {
        await this.#catchUp(own, held);
      } catch (error) {
        this.#dropOwn(own);
        throw error;
      }
    }
    return session.endReason === undefined ? own.stream : undefined;
  }

  async #catchUp(own: HeldOwn, { seq: seen, listened }: HeldStream): Promise<void> {
    const { session } = own.options;
    // What another node was told before this one held the stream, nobody has told this one.
    await this.#options.reload(session);
    const { seq: newest, notices, lost } = await this.#options.shared.streams.noticesSince(seen);
    // As where an inbox is full on one node.
    if (listened && session.record.initialized && lost > seen) return this.#options.fail(session, 'inbox-full');
    // What was said to those who listened is nothing to one that has never done so, but for what has changed.
    const missed = notices.filter(({ notice }) => session.wants(notice) && (listened || notice.mergeKey !== undefined));
    own.caughtUp(
      missed.map(({ seq, notice }) => waitingOf(seq, notice)),
      newest,
    );
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

  #dropOwn(own: HeldOwn): void {
    const { session } = own.options;
    const { id } = session.record;
    const left = own.end();
    if (this.#owns.get(id) !== own) return;
    this.#owns.delete(id);
    session.listened = false;
    session.dropStream(standaloneStreamId);
    for (const json of left) this.#notAsked(id, json);
  }

  /** A question that nobody will see; whoever asked is told so. */
  #notAsked(id: string, json: string): void {
    const question = questionIn(json);
    const node = question?.split('.')[0];
    if (question === undefined || node === undefined) return;
    this.#options.shared.send(node, { kind: 'notAsked', id, question }).catch(() => undefined); // it runs out of time
  }

  /** A message for this session's own stream, if it is read here. */
  tell(session: Session, json: string, mergeKey: string | undefined): boolean {
    const own = this.#owns.get(session.record.id);
    own?.say({ seq: 0, json, mergeKey });
    return own !== undefined;
  }

  /** Wherever it is read. @returns False if that is nowhere; the node that finds out later says so. */
  ask(session: Session, json: string): boolean {
    const { id, listensAt } = session.record;
    const own = this.#owns.get(id);
    if (own !== undefined) return own.stream.attached && this.tell(session, json, undefined);
    const { shared } = this.#options;
    if (listensAt === undefined || listensAt === shared.node) return false;
    shared.send(listensAt, { kind: 'ask', id, json }).then(
      (heard) => {
        if (!heard) session.notAsked(questionIn(json));
      },
      () => session.notAsked(questionIn(json)),
    );
    return true;
  }

  /** For another node. */
  #asked(id: string, json: string, session: Session | undefined): void {
    const own = this.#owns.get(id);
    if (session !== undefined && own?.stream.attached === true) return void this.tell(session, json, undefined);
    this.#notAsked(id, json);
  }

  /** Nothing of this session is held here any more. */
  forget(session: Session): void {
    const { id } = session.record;
    this.#owns.get(id)?.end();
    this.#owns.delete(id);
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
        return this.#asked(message.id, message.json, session);
      case 'untold':
        return this.#replies.untold(session, message);
      case 'unsaid':
        return this.#replies.unsaid(message);
      case 'resync':
        for (const own of this.#owns.values()) {
          own.wake();
          this.#stale.add(own.options.session);
        }
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
        // Messages come late: the store knows who holds it.
        if (message.streamId === standaloneStreamId) this.#owns.get(session.record.id)?.wake();
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

  /** As where an inbox is full on one node. What is still being opened finds out for itself. */
  #failListeners(lost: number): void {
    for (const { options, caughtUpTo } of [...this.#owns.values()])
      if (options.session.record.initialized && caughtUpTo < lost)
        void this.#options.fail(options.session, 'inbox-full');
  }

  #deliver(seq: number, notice: SharedNotice, from: string): void {
    for (const own of this.#owns.values()) if (own.options.session.wants(notice)) own.say(waitingOf(seq, notice));
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
    for (const own of this.#owns.values()) own.end();
    this.#replies.end();
    this.#notices.end();
    this.#burials.end();
  }
}

function waitingOf(seq: number, { message, mergeKey }: SharedNotice) {
  return { seq, json: JSON.stringify(message), mergeKey };
}

/** A notification is none. */
function questionIn(json: string): string | undefined {
  const { id } = JSON.parse(json) as { id?: string };
  return id;
}
