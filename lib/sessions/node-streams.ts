/** The streams of one node of many: which it appends to, which it reads for others, and what all nodes are told. */
import type { RequestId } from '../protocol/types';
import { HeldOwn, HeldReply } from './held-streams';
import type { HeldOptions } from './held-streams';
import { NodeNotices } from './node-notices';
import { ReplyLog } from './reply-log';
import { standaloneStreamId } from './session';
import type { Session, SessionEndReason } from './session';
import type { NodeMessage, SharedNotice, SharedPart } from './shared-store';
import type { Sink, Stream, StreamLimits } from './stream';

/** Signs of life, and looks at those of others. */
const beatMs = 2_000;

export interface NodeStreamsOptions {
  readonly shared: SharedPart;
  readonly limits: StreamLimits;
  readonly fail: (session: Session, reason: SessionEndReason) => void;
  readonly onError: (error: unknown) => void;
  /** Hears every notice of other nodes. */
  readonly hear: (notice: SharedNotice) => void;
}

/** Takes what is written elsewhere. */
const elsewhere: Sink = { write: () => true, close() {} };

/** Owns the logs and copies of a mount's streams; each goes with its stream or session. Ends with {@link NodeStreams.end}. */
export class NodeStreams {
  readonly #options: NodeStreamsOptions;
  readonly #logs = new Map<string, ReplyLog>();
  readonly #replies = new Map<string, HeldReply>();
  readonly #owns = new Map<string, HeldOwn>();
  readonly #notices: NodeNotices;
  readonly #timer: NodeJS.Timeout;

  constructor(options: NodeStreamsOptions) {
    this.#options = options;
    this.#notices = new NodeNotices({
      streams: options.shared.streams,
      deliver: (seq, notice, from) => this.#deliver(seq, notice, from),
      onError: options.onError,
    });
    this.#timer = setInterval(() => void this.#beat(), beatMs).unref();
    void this.#beat();
  }

  /** Log what `stream` carries from now on. @returns Whether the store knows of it, once that is known. */
  log(session: Session, streamId: string, stream: Stream, requestIds: () => RequestId[]): Promise<boolean> {
    const { id } = session.record;
    const key = `${id}.${streamId}`;
    const { shared, limits } = this.#options;
    const onDone = (): void => void this.#logs.delete(key);
    const log = new ReplyLog({
      streams: shared.streams,
      id,
      streamId,
      requestIds,
      limit: limits.historyLimit,
      onDone,
    });
    this.#logs.set(key, log);
    stream.log = log;
    return log.known;
  }

  /** Read a stream here from now on. @param after What the client has seen. @returns Undefined if there is no such event. */
  async find(session: Session, streamId: string, after: number | undefined): Promise<Stream | undefined> {
    return streamId === standaloneStreamId
      ? this.#findOwn(session, after)
      : this.#findReply(session, streamId, after ?? 0);
  }

  async #findOwn(session: Session, after: number | undefined): Promise<Stream | undefined> {
    const { id } = session.record;
    const { streams } = this.#options.shared;
    const known = this.#owns.get(id);
    // Before the others are told: what is said meanwhile is heard here.
    const own = known ?? new HeldOwn(this.#held(session, () => this.#dropOwn(session)));
    this.#owns.set(id, own);
    try {
      const held = await streams.hold(id, standaloneStreamId);
      if (held === undefined || (after ?? 0) > held.last) {
        if (known === undefined) this.#dropOwn(session);
        return undefined;
      }
      if (known === undefined || (after !== undefined && after < own.start)) own.restart(after ?? held.written);
      session.adoptStream(standaloneStreamId, own.stream);
      if (known === undefined) {
        const { notices } = await streams.noticesSince(held.seq);
        // What was said to those who listened is nothing to one that has never done so, but for what has changed.
        const missed = notices.filter(
          ({ notice }) => concerns(session, notice) && (held.listened || notice.mergeKey !== undefined),
        );
        own.caughtUp(missed.map(({ seq, notice }) => waitingOf(seq, notice)));
      }
      return own.stream;
    } catch (error) {
      if (known === undefined) this.#dropOwn(session);
      throw error;
    }
  }

  async #findReply(session: Session, streamId: string, after: number): Promise<Stream | undefined> {
    const { id } = session.record;
    const key = `${id}.${streamId}`;
    const { streams } = this.#options.shared;
    const mine = this.#logs.get(key);
    const here = session.findStream(streamId);
    if (here !== undefined && !this.#replies.has(key)) {
      if (mine?.taken === true) {
        await streams.hold(id, streamId);
        mine.taken = false;
      }
      return here;
    }
    const held = await streams.hold(id, streamId);
    if (held === undefined) return undefined;
    this.#replies.get(key)?.end();
    const reply = new HeldReply(
      this.#held(session, () => this.#dropReply(session, streamId)),
      streamId,
      held.owner,
      after,
    );
    this.#replies.set(key, reply);
    session.adoptStream(streamId, reply.stream);
    return reply.stream;
  }

  #held(session: Session, drop: () => void): HeldOptions {
    const { shared, limits, fail } = this.#options;
    return {
      streams: shared.streams,
      session,
      limits,
      onFull: () => fail(session, 'inbox-full'),
      onGone(why) {
        drop();
        if (why === 'ended') fail(session, 'expired');
      },
    };
  }

  #dropOwn(session: Session): void {
    const own = this.#owns.get(session.record.id);
    this.#owns.delete(session.record.id);
    own?.end();
    session.listened = false;
    session.dropStream(standaloneStreamId);
  }

  #dropReply(session: Session, streamId: string): void {
    const key = `${session.record.id}.${streamId}`;
    this.#replies.get(key)?.end();
    this.#replies.delete(key);
    session.dropStream(streamId);
  }

  /** A message for this session's own stream, if it is read here. */
  tell(session: Session, json: string, mergeKey: string | undefined): boolean {
    const own = this.#owns.get(session.record.id);
    own?.say({ seq: 0, json, mergeKey });
    return own !== undefined;
  }

  /** Wherever it is read; if that node is gone, nobody answers. */
  ask(session: Session, json: string): boolean {
    const { id, listensAt } = session.record;
    const own = this.#owns.get(id);
    if (own !== undefined) return own.stream.attached && this.tell(session, json, undefined);
    const { shared } = this.#options;
    if (listensAt === undefined || listensAt === shared.node) return false;
    shared.send(listensAt, { kind: 'ask', id, json }).catch(() => undefined); // the question's time limit is its end
    return true;
  }

  /** Nothing of this session is held here any more. */
  forget(session: Session): void {
    const { id } = session.record;
    this.#owns.get(id)?.end();
    this.#owns.delete(id);
    for (const [key, reply] of this.#replies) {
      if (reply.options.session !== session) continue;
      reply.end();
      this.#replies.delete(key);
    }
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
        if (session !== undefined) this.tell(session, message.json, undefined);
        return;
      case 'wake':
        this.#replies.get(`${message.id}.${message.streamId}`)?.wake();
        return;
      case 'taken':
        if (session !== undefined) this.#taken(session, message.streamId);
        return;
      case 'resync':
        for (const held of [...this.#owns.values(), ...this.#replies.values()]) held.wake();
        void this.#notices.catchUp();
    }
  }

  #taken(session: Session, streamId: string): void {
    const key = `${session.record.id}.${streamId}`;
    if (streamId === standaloneStreamId) return this.#dropOwn(session);
    if (this.#replies.has(key)) return this.#dropReply(session, streamId);
    const log = this.#logs.get(key);
    if (log !== undefined) log.taken = true;
    session.findStream(streamId)?.attach(elsewhere);
  }

  #deliver(seq: number, notice: SharedNotice, from: string): void {
    for (const own of this.#owns.values()) if (concerns(own.options.session, notice)) own.say(waitingOf(seq, notice));
    if (from !== this.#options.shared.node) this.#options.hear(notice);
  }

  async #beat(): Promise<void> {
    const { streams } = this.#options.shared;
    this.#notices.beat();
    try {
      await streams.beat();
      const waiting = [...this.#replies.values()].filter(({ finished }) => !finished);
      for (const owner of new Set(waiting.map((reply) => reply.owner)))
        if (owner !== undefined && !(await streams.isAlive(owner))) await this.#bury(owner, waiting);
    } catch {
      // The store has said what is wrong with it; the next beat tries again.
    }
  }

  async #bury(owner: string, waiting: readonly HeldReply[]): Promise<void> {
    for (const reply of waiting) {
      if (reply.owner !== owner) continue;
      await this.#options.shared.streams.abandon(reply.options.session.record.id, reply.streamId, owner);
      reply.wake();
    }
  }

  /** Settles when what ran here is told, or after `graceMs`. */
  async end(graceMs: number): Promise<void> {
    clearInterval(this.#timer);
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<void>((resolve) => (timer = setTimeout(resolve, graceMs)));
    await Promise.race([Promise.all([...this.#logs.values()].map((log) => log.told)), tooLate]);
    clearTimeout(timer);
    for (const held of [...this.#owns.values(), ...this.#replies.values()]) held.end();
  }
}

function concerns({ record }: Session, { uri }: SharedNotice): boolean {
  return record.initialized && (uri === undefined || record.subscriptions.includes(uri));
}

function waitingOf(seq: number, { message, mergeKey }: SharedNotice) {
  return { seq, json: JSON.stringify(message), mergeKey };
}
