/** The stream of one reply: what precedes the result, then that; where its client can come back for the rest, it may be let go. */
import type { ServerResponse } from 'node:http';
import type { Revision } from '../protocol/revisions';
import type { RequestId } from '../protocol/types';
import type { Session } from '../sessions/session';
import { Stream } from '../sessions/stream';
import { eventIdPrefix } from './event-id';
import { isTaken } from './http-error';
import type { Mount } from './mount';
import { jittered } from './sse';
import type { SseSink } from './sse';
import type { Open } from './watch';

/** How long a whole answer waits for the store; then it goes out as one that cannot be resumed. */
const patienceMs = 250;

export interface ReplyStreamAbout {
  readonly session: Session | undefined;
  readonly revision: Revision;
  /** The requests that it answers. */
  readonly requestIds: () => RequestId[];
  /** The connection is over, whoever ended it. */
  readonly onClosed: () => void;
  readonly onError: (error: unknown) => void;
}

type Phase =
  /** No event id is given out before the store knows what it means: the head waits for that, too. */
  | { readonly at: 'waiting'; timer: NodeJS.Timeout | undefined; letsGo: boolean }
  | { readonly at: 'open'; readonly sink: SseSink; readonly isResumable: boolean }
  /** Whoever is in front of us has answered meanwhile, or the client has gone. */
  | { readonly at: 'unsent' };

/** Ends with {@link ReplyStream.end}. While it waits for the store, the mount waits for it. */
export class ReplyStream implements Open {
  readonly #mount: Mount;
  readonly #res: ServerResponse;
  readonly #about: ReplyStreamAbout;
  /** Its id in the session; none where no GET can resume it. */
  readonly #id: string | undefined;
  readonly #stream: Stream;
  #phase: Phase;

  constructor(mount: Mount, res: ServerResponse, about: ReplyStreamAbout) {
    this.#mount = mount;
    this.#res = res;
    this.#about = about;
    const { inboxLimit, inboxBytes, keepAliveMs, serverMessages } = mount.options;
    const { session, requestIds, onError } = about;
    // What no GET can resume is not made to look as if.
    const opened = serverMessages && session?.endReason === undefined ? session?.openStream(requestIds) : undefined;
    this.#id = opened?.id;
    this.#stream =
      opened?.stream ??
      new Stream({ waitingLimit: inboxLimit, waitingBytes: inboxBytes, historyLimit: 0, historyBytes: 0 });
    if (opened?.resumable === undefined) {
      this.#phase = { at: 'unsent' };
      this.#open(opened !== undefined);
      return;
    }
    this.#phase = { at: 'waiting', timer: undefined, letsGo: false };
    mount.watch.add(this);
    this.#openWithin(keepAliveMs);
    opened.resumable.then((isResumable) => this.#waited(isResumable)).catch(onError);
  }

  /** Somebody reads it here. */
  get attached(): boolean {
    return this.#stream.attached;
  }

  /** @returns False if it does not fit. */
  send(json: string, mergeKey?: string): boolean {
    return this.#stream.send(json, mergeKey);
  }

  /** The last messages. A whole answer has less patience with the store. */
  end(last: readonly string[]): void {
    // A result is never dropped for notifications.
    for (const json of last) this.#stream.send(json, undefined, true);
    this.#stream.finish();
    if (this.#phase.at === 'waiting') this.#openWithin(patienceMs);
    if (this.#id !== undefined) this.#about.session!.streamFinished(this.#id, Date.now());
  }

  /** Close the connection while the call goes on. @returns False if the client could not come back. */
  letGo(): boolean {
    const phase = this.#phase;
    if (phase.at === 'waiting') return (phase.letsGo = true);
    if (!this.#canReturn || !this.#stream.attached) return false;
    this.#stream.close();
    return true;
  }

  /** transports, "Sending Messages" 6: the priming event has told the client when to come back. */
  get #canReturn(): boolean {
    return this.#phase.at === 'open' && this.#phase.isResumable && this.#about.revision.primingEvent;
  }

  /** Close the connection, whether the client can come back or not. */
  cut(): void {
    if (this.#phase.at === 'open') this.#phase.sink.close();
  }

  /** The caller's token has expired: with another one the client may resume. */
  expire(): void {
    if (this.#phase.at === 'open' && this.#phase.isResumable) this.#phase.sink.close();
  }

  /** However long the store takes, the client hears something by then, of a stream that it cannot resume. */
  #openWithin(waitMs: number): void {
    if (this.#phase.at !== 'waiting') return;
    clearTimeout(this.#phase.timer);
    this.#phase.timer = setTimeout(() => {
      try {
        this.#waited(false);
      } catch (error) {
        this.#about.onError(error);
      }
    }, waitMs).unref();
  }

  #waited(isResumable: boolean): void {
    if (this.#phase.at !== 'waiting') return;
    const { timer, letsGo } = this.#phase;
    clearTimeout(timer);
    this.#phase = { at: 'unsent' };
    this.#open(isResumable);
    this.#mount.watch.remove(this);
    if (letsGo && this.#canReturn) this.#stream.close();
  }

  #open(isResumable: boolean): void {
    if (isTaken(this.#res)) return;
    const { session, revision, onClosed } = this.#about;
    const stream = this.#stream;
    const sink: SseSink = this.#mount.openStream(this.#res, {
      ...(isResumable ? { idPrefix: eventIdPrefix(session!, this.#id!) } : undefined),
      // Only from 2025-11-25 on: older clients choke on an event without data.
      ...(isResumable && revision.primingEvent
        ? { primeWith: 0, retryMs: jittered(this.#mount.options.retryMs) }
        : undefined),
      onDrain: () => stream.pump(),
      onClose() {
        stream.detach(sink);
        onClosed();
      },
    });
    this.#phase = { at: 'open', sink, isResumable };
    stream.attach(sink);
  }

  tick(now: number): void {
    if (this.#phase.at === 'open' && this.#canReturn) this.#phase.sink.closeAt(this.#mount.options, now);
  }

  shutdown(): void {}

  /** The mount closes, and waits for nobody. */
  abort(): void {
    this.#waited(false);
  }
}
