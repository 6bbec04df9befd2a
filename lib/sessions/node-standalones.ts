/** The standalone streams of one node of many: it holds those that are read here, for all nodes. */
import { UnavailableError } from '../protocol/errors';
import type { HeldOptions } from './held-options';
import { HeldStandalone } from './held-standalone';
import { standaloneStreamId } from './session';
import type { Session, SessionEndReason } from './session';
import type { HeldStream, SharedNotice, SharedPart } from './shared-store';
import type { Stream } from './stream';

/** How often a stream is taken elsewhere while it is opened here, before the client is told to come back. */
const maxAttempts = 3;

export interface NodeStandalonesOptions {
  readonly shared: SharedPart;
  /** What a copy of a stream needs. @param drop Called when nothing is to be held any more. */
  readonly held: (session: Session, drop: () => void) => HeldOptions;
  /** Settles when the session has ended; never rejects. */
  readonly fail: (session: Session, reason: SessionEndReason) => Promise<void>;
  /** Read a session's record again. */
  readonly reload: (session: Session) => Promise<void>;
}

/** Owns copies; each goes with its session, all of them with {@link NodeStandalones.end}. */
export class NodeStandalones {
  readonly #options: NodeStandalonesOptions;
  readonly #held = new Map<string, HeldStandalone>();

  constructor(options: NodeStandalonesOptions) {
    this.#options = options;
  }

  /**
   * Read a session's stream here from now on.
   *
   * @param after What the client has seen.
   * @returns Undefined if there is no such event.
   */
  async find(session: Session, after: number | undefined): Promise<Stream | undefined> {
    for (let attempts = 0; attempts < maxAttempts; attempts += 1) {
      // Before the others are told: what is said meanwhile is heard here.
      const standalone = this.#held.get(session.record.id) ?? this.#add(session);
      const stream = await this.#open(standalone, after);
      // It may have been taken, or another request have failed with it, while this one waited.
      if (stream === undefined || this.#held.get(session.record.id) === standalone) return stream;
    }
    throw new UnavailableError('The stream is wanted on too many processes at once');
  }

  #add(session: Session): HeldStandalone {
    const standalone: HeldStandalone = new HeldStandalone(this.#options.held(session, () => this.#drop(standalone)));
    this.#held.set(session.record.id, standalone);
    return standalone;
  }

  /** @returns Undefined if there is no such event, or the session has ended. */
  async #open(standalone: HeldStandalone, after: number | undefined): Promise<Stream | undefined> {
    const { session } = standalone.options;
    const isGone = () => this.#held.get(session.record.id) !== standalone;
    let held: HeldStream | undefined;
    try {
      held = await standalone.hold(after ?? 0);
    } finally {
      if (held === undefined && standalone.isUnused) this.#drop(standalone);
    }
    if (held === undefined || session.endReason !== undefined) return undefined;
    if (isGone()) return standalone.stream;
    const isFirst = standalone.begin(after, held.written);
    session.adoptStream(standaloneStreamId, standalone.stream);
    if (isFirst) {
      try {
        await this.#catchUp(standalone, held);
      } catch (error) {
        this.#drop(standalone);
        throw error;
      }
    }
    return session.endReason === undefined ? standalone.stream : undefined;
  }

  async #catchUp(standalone: HeldStandalone, { seq: seen, listened }: HeldStream): Promise<void> {
    const { session } = standalone.options;
    // What another node was told before this one held the stream, nobody has told this one.
    await this.#options.reload(session);
    const { seq: newest, notices, lost } = await this.#options.shared.streams.noticesSince(seen);
    // As where an inbox is full on one node.
    if (listened && session.record.initialized && lost > seen) return this.#options.fail(session, 'inbox-full');
    // What was said to those who listened is nothing to one that has never done so, but for what has changed.
    const missed = notices.filter(({ notice }) => session.wants(notice) && (listened || notice.mergeKey !== undefined));
    standalone.caughtUp(
      missed.map(({ seq, notice }) => waitingOf(seq, notice)),
      newest,
    );
  }

  #drop(standalone: HeldStandalone): void {
    const { session } = standalone.options;
    const { id } = session.record;
    const left = standalone.end();
    if (this.#held.get(id) !== standalone) return;
    this.#held.delete(id);
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

  /** Wherever it is read. @returns False if that is nowhere; the node that finds out later says so. */
  ask(session: Session, json: string): boolean {
    const { id, listensAt } = session.record;
    const standalone = this.#held.get(id);
    if (standalone !== undefined) return putTo(standalone, json);
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
  asked(id: string, json: string, session: Session | undefined): void {
    const standalone = this.#held.get(id);
    if (session === undefined || standalone === undefined || !putTo(standalone, json)) this.#notAsked(id, json);
  }

  /** As where an inbox is full on one node. What is still being opened finds out for itself. */
  failListeners(lost: number): void {
    for (const { options, caughtUpTo } of [...this.#held.values()])
      if (options.session.record.initialized && caughtUpTo < lost)
        void this.#options.fail(options.session, 'inbox-full');
  }

  /** A notice, to those that it is for. */
  deliver(seq: number, notice: SharedNotice): void {
    for (const standalone of this.#held.values())
      if (standalone.options.session.wants(notice)) standalone.say(waitingOf(seq, notice));
  }

  /** There is more to read, or it is held elsewhere now: messages come late, and the store knows. */
  wake(session: Session): void {
    this.#held.get(session.record.id)?.wake();
  }

  wakeAll(): void {
    for (const standalone of this.#held.values()) standalone.wake();
  }

  /** Whose streams are held here. */
  get sessions(): Session[] {
    return [...this.#held.values()].map(({ options }) => options.session);
  }

  /** Nothing of this session is held here any more. */
  forget({ record: { id } }: Session): void {
    this.#held.get(id)?.end();
    this.#held.delete(id);
  }

  end(): void {
    for (const standalone of this.#held.values()) standalone.end();
  }
}

function waitingOf(seq: number, { message, mergeKey }: SharedNotice) {
  return { seq, json: JSON.stringify(message), mergeKey };
}

/** @returns False if nobody reads it. */
function putTo(standalone: HeldStandalone, json: string): boolean {
  if (!standalone.stream.attached) return false;
  standalone.say({ seq: 0, json, mergeKey: undefined });
  return true;
}

/** A notification is none. */
function questionIn(json: string): string | undefined {
  const { id } = JSON.parse(json) as { id?: string };
  return id;
}
