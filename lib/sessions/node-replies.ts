/** The replies' streams of one node of many: those it writes, and those of other nodes that are read here. */
import type { RequestId } from '../protocol/types';
import { HeldReply } from './held-streams';
import type { HeldOptions } from './held-streams';
import { ReplyLog } from './reply-log';
import type { Session } from './session';
import type { SharedPart } from './shared-store';
import type { Stream, StreamLimits } from './stream';

export interface NodeRepliesOptions {
  readonly shared: SharedPart;
  readonly limits: StreamLimits;
  /** What a copy of a stream needs. @param drop Called when nothing is to be held any more. */
  readonly held: (session: Session, drop: () => void) => HeldOptions;
}

/** Owns logs and copies; each goes with its stream or session, all of them with {@link NodeReplies.end}. */
export class NodeReplies {
  readonly #options: NodeRepliesOptions;
  /** What this node writes, until all of it is told. */
  readonly #logs = new Map<string, ReplyLog>();
  readonly #copies = new Map<string, HeldReply>();

  constructor(options: NodeRepliesOptions) {
    this.#options = options;
  }

  /** Log what `stream` carries from now on. @returns Whether the store knows of it, once that is known. */
  log(session: Session, streamId: string, stream: Stream, requestIds: () => RequestId[]): Promise<boolean> {
    const key = keyOf(session, streamId);
    const { shared, limits } = this.#options;
    const log = new ReplyLog({
      streams: shared.streams,
      id: session.record.id,
      streamId,
      requestIds,
      limit: limits.historyLimit,
      onDone: () => void this.#logs.delete(key),
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
    if (here !== undefined && !this.#copies.has(key)) {
      if (mine?.taken === true) {
        await streams.hold(id, streamId);
        mine.taken = false;
      }
      return here;
    }
    const held = await streams.hold(id, streamId);
    if (held === undefined) return undefined;
    this.#copies.get(key)?.end();
    const copy = new HeldReply(
      this.#options.held(session, () => this.#drop(session, streamId)),
      streamId,
      held.owner,
      after,
    );
    this.#copies.set(key, copy);
    session.adoptStream(streamId, copy.stream);
    return copy.stream;
  }

  #drop(session: Session, streamId: string): void {
    const key = keyOf(session, streamId);
    this.#copies.get(key)?.end();
    this.#copies.delete(key);
    session.dropStream(streamId);
  }

  /** It is read at `node` now. */
  taken(session: Session, streamId: string, node: string): void {
    const key = keyOf(session, streamId);
    if (this.#copies.has(key)) return this.#drop(session, streamId);
    const log = this.#logs.get(key);
    const stream = session.findStream(streamId);
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

  /** End the streams whose nodes are dead: with errors, for whoever reads them here. */
  async buryDead(): Promise<void> {
    const { streams } = this.#options.shared;
    const waiting = [...this.#copies.values()].filter(({ finished }) => !finished);
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

function keyOf({ record: { id } }: Session, streamId: string): string {
  return `${id}.${streamId}`;
}
