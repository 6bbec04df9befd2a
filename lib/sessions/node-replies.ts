/** The replies' streams of one node of many: those it writes, and those of other nodes that are read here. */
import type { RequestId } from '../protocol/types';
import type { HeldOptions } from './held-options';
import { HeldReply } from './held-reply';
import { ReplyLog } from './reply-log';
import { retryFor } from './retry-for';
import type { Session } from './session';
import type { HeldStream, NodeMessage, SharedPart } from './shared-store';
import type { Stream, StreamLimits } from './stream';

/** How long a node may take to tell what its client has seen, before that is told to come back. */
const patienceMs = 1_000;

/** What a client has seen of a reply. */
type Position = Omit<Extract<NodeMessage, { kind: 'unsaid' }>, 'kind'>;
type Untold = Omit<Extract<NodeMessage, { kind: 'untold' }>, 'kind'>;

interface Wait extends Position {
  /** Its node has never said that. */
  unsaid: boolean;
}

export interface NodeRepliesOptions {
  readonly shared: SharedPart;
  readonly limits: StreamLimits;
  /** What a copy of a stream needs. @param drop Called when nothing is to be held any more. */
  readonly held: (session: Session, drop: () => void) => HeldOptions;
  readonly onError: (error: unknown) => void;
}

/** Owns logs and copies; each goes with its stream or session, all of them with {@link NodeReplies.end}. */
export class NodeReplies {
  readonly #options: NodeRepliesOptions;
  /** What this node writes, until all of it is told. */
  readonly #logs = new Map<string, ReplyLog>();
  /** What is read here, until all of it is; from then on the session has it, for whoever is about to read the rest. */
  readonly #copies = new Map<string, HeldReply>();
  /** What the store is still to be told; each for a second at most. */
  readonly #waits = new Set<Wait>();

  constructor(options: NodeRepliesOptions) {
    this.#options = options;
  }

  /** Log what `stream` carries from now on. @returns Whether the store knows of it, once that is known. */
  log(session: Session, streamId: string, stream: Stream, requestIds: () => RequestId[]): Promise<boolean> {
    const key = keyOf(session, streamId);
    const { shared, limits, onError } = this.#options;
    const log = new ReplyLog({
      streams: shared.streams,
      id: session.record.id,
      streamId,
      requestIds,
      limit: limits.historyLimit,
      limitBytes: limits.historyBytes,
      onAbandoned() {
        stream.leave();
        session.dropStream(streamId);
      },
      onDone: () => void this.#logs.delete(key),
      onError,
    });
    this.#logs.set(key, log);
    stream.log = log;
    return log.known;
  }

  /** Read a stream here from now on. @param after What the client has seen. @returns Undefined if there is no such stream. */
  async find(session: Session, streamId: string, after: number): Promise<Stream | undefined> {
    const { id } = session.record;
    const key = keyOf(session, streamId);
    const { streams } = this.#options.shared;
    const mine = this.#logs.get(key);
    const here = session.findStream(streamId);
    if (here !== undefined && !isCopy(here)) {
      if (mine?.taken === true && here.reaches(after)) {
        mine.takenBack = true;
        await streams.hold(id, streamId, 0);
        mine.taken = false;
      }
      return here;
    }
    const held = await this.#hold(id, streamId, after);
    if (held === undefined || session.endReason !== undefined) return undefined;
    // Another request may have come as far meanwhile: the last one reads.
    this.#copies.get(key)?.end();
    session.dropStream(streamId);
    const options = {
      ...this.#options.held(session, () => this.#drop(copy)),
      onFinished: () => this.#finished(copy),
    };
    const copy: HeldReply = new HeldReply(options, streamId, held.owner, after);
    this.#copies.set(key, copy);
    session.adoptStream(streamId, copy.stream);
    return copy.stream;
  }

  /** What the client has seen may be on its way to the store: it is waited for while the node lives that has to tell. */
  async #hold(id: string, streamId: string, after: number): Promise<HeldStream | undefined> {
    const { shared } = this.#options;
    const wait: Wait = { id, streamId, position: after, unsaid: false };
    let seen = after;
    let asked = false;
    this.#waits.add(wait);
    try {
      return await retryFor(patienceMs, 'The stream cannot be resumed right now', async () => {
        const { unsaid } = wait;
        const held = await shared.streams.hold(id, streamId, seen);
        if (held === undefined || !('notYetTold' in held)) return held;
        if (unsaid) return undefined;
        // What is not told by now never will be; the call is answered by errors.
        if (!(await shared.streams.isAlive(held.owner))) seen = 0;
        else
          asked ||= await shared.send(held.owner, { kind: 'untold', id, streamId, position: after, by: shared.node });
        return 'again';
      });
    } finally {
      this.#waits.delete(wait);
    }
  }

  /** `by` has a client that has seen more than the store has been told. That is on its way, or never was. */
  untold(session: Session | undefined, { id, streamId, position, by }: Untold): void {
    const isSaid = this.#logs.has(`${id}.${streamId}`) && session?.findStream(streamId)?.reaches(position) === true;
    if (isSaid) return;
    // Where it does not arrive, the client is told to come back.
    this.#options.shared.send(by, { kind: 'unsaid', id, streamId, position }).catch(() => undefined);
  }

  /** The node of a call says that no client can have seen this. */
  unsaid({ id, streamId, position }: Position): void {
    for (const wait of this.#waits)
      if (wait.id === id && wait.streamId === streamId && wait.position === position) wait.unsaid = true;
  }

  #drop(copy: HeldReply): void {
    const { session } = copy.options;
    const key = keyOf(session, copy.streamId);
    copy.end();
    if (this.#copies.get(key) !== copy) return;
    this.#copies.delete(key);
    session.dropStream(copy.streamId);
  }

  #finished(copy: HeldReply): void {
    const { session } = copy.options;
    const key = keyOf(session, copy.streamId);
    if (this.#copies.get(key) !== copy) return;
    this.#copies.delete(key);
    session.streamFinished(copy.streamId, Date.now());
  }

  /** It is read at `by` now, unless that was a while ago: the store knows. */
  async taken(session: Session, streamId: string, by: string): Promise<void> {
    const key = keyOf(session, streamId);
    const copy = this.#copies.get(key);
    if (copy !== undefined) return copy.wake();
    const log = this.#logs.get(key);
    // Where it has not been taken back in all its time, this is no old message.
    const node = log?.takenBack === true ? await this.#holder(session, streamId, by) : by;
    if (node === this.#options.shared.node) return;
    const stream = session.findStream(streamId);
    if (stream !== undefined && isCopy(stream)) return session.dropStream(streamId);
    if (log !== undefined) log.taken = true;
    stream?.attach({
      write: () => true,
      close: () => {
        // Where another takes its place, or the call is over, nothing is let go.
        if (log?.taken !== true || stream.attached || stream.finished) return;
        this.#letGo(session, streamId, node, stream.position, log).catch(() => undefined); // the client stays connected
      },
    });
  }

  async #holder(session: Session, streamId: string, otherwise: string): Promise<string> {
    try {
      return (await this.#options.shared.streams.holder(session.record.id, streamId)) ?? otherwise;
    } catch {
      return otherwise; // the store has said what is wrong with it
    }
  }

  /** The call lets its connection go, which is another node's. */
  async #letGo(session: Session, streamId: string, node: string, position: number, log: ReplyLog): Promise<void> {
    await log.told;
    await this.#options.shared.send(node, { kind: 'letGo', id: session.record.id, streamId, position });
  }

  /** Let the connection of what is read here go, when all up to `position` is written. */
  letGo(session: Session, streamId: string, position: number): void {
    this.#copies.get(keyOf(session, streamId))?.letGo(position);
  }

  /** There is more to read. */
  wake(session: Session, streamId: string): void {
    this.#copies.get(keyOf(session, streamId))?.wake();
  }

  wakeAll(): void {
    for (const copy of this.#copies.values()) copy.wake();
  }

  /** Nothing of this session is held here any more. */
  forget(session: Session): void {
    for (const [key, copy] of this.#copies) {
      if (copy.options.session !== session) continue;
      copy.end();
      this.#copies.delete(key);
    }
  }

  /** What runs here still runs. */
  keep(): void {
    const now = Date.now();
    for (const log of this.#logs.values()) log.keep(now);
  }

  /** End the streams whose nodes are dead: with errors, for whoever reads them here. */
  async buryDead(): Promise<void> {
    const { streams } = this.#options.shared;
    const waiting = [...this.#copies.values()];
    for (const owner of new Set(waiting.map((copy) => copy.owner))) {
      if (owner === undefined || (await streams.isAlive(owner))) continue;
      for (const copy of waiting) {
        if (copy.owner !== owner) continue;
        await streams.abandon(copy.options.session.record.id, copy.streamId, owner);
        copy.wake();
      }
    }
  }

  /** Settles when what ran here is told. */
  get told(): Promise<unknown> {
    return Promise.all([...this.#logs.values()].map((log) => log.told));
  }

  /** What is not told by now is not told by this node. */
  end(): void {
    for (const log of this.#logs.values()) log.end();
    for (const copy of this.#copies.values()) copy.end();
  }
}

/** What is written here has a log, for as long as it is kept. */
function isCopy(stream: Stream): boolean {
  return stream.log === undefined;
}

function keyOf({ record: { id } }: Session, streamId: string): string {
  return `${id}.${streamId}`;
}
