/** `subscriptions/listen` over HTTP. */
import type { Subscription } from '../caller';
import type { Notice, ServerCore } from '../core';
import { encodeTagged } from '../methods/subscriptions';
import type { JsonRpcResponse } from '../protocol/types';
import type { ReplyStream } from './reply-stream';

/** Hears notices for one reply, from the acknowledgement on, until {@link Listening.end}. */
export class Listening {
  /** The call's, for the end of the stream; once it is there, the stream outlives its call. */
  result: JsonRpcResponse | undefined;
  readonly #core: ServerCore;
  readonly #hear: (notice: Notice) => void;

  constructor(core: ServerCore, stream: ReplyStream, { id, wants }: Subscription) {
    this.#core = core;
    this.#hear = (notice) => {
      // Full: the stream ends, which tells the client to fetch anew what it listened for.
      if (wants(notice) && !stream.send(encodeTagged(notice, id), notice.mergeKey)) stream.cut();
    };
    core.listeners.add(this.#hear);
  }

  end(): void {
    this.#core.listeners.delete(this.#hear);
  }
}
