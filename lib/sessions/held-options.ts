/** What a stream of a shared session needs that is read on this node: a copy of what the store has, kept up with it. */
import type { Session } from './session';
import type { SharedStreams } from './shared-store';
import type { StreamLimits } from './stream';

export interface HeldOptions {
  readonly streams: SharedStreams;
  readonly session: Session;
  readonly limits: StreamLimits;
  /** The client does not take what waits. */
  readonly onFull: () => void;
  /** Nothing is to be held any more: it was taken, or the session has ended. */
  readonly onGone: (why: 'ended' | 'taken') => void;
  readonly onError: (error: unknown) => void;
}
