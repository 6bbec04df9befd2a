/** Legacy questions: a request of ours to the client, while the call that needs the answer is parked. */
import type { CallContext } from '../call-context';
import type { InputRequest, JsonRpcResponse } from '../protocol/types';

/** How often a parked call shows that it lives, to a client that gave a progress token. */
const progressIntervalMs = 5_000;

/** Why a question got no answer. */
export type Unanswered = 'unreachable' | 'too-many' | 'timeout' | 'ended' | 'cancelled' | 'refused';

const explanations: Record<Unanswered, string> = {
  unreachable: 'The client has no stream to be asked on',
  'too-many': 'Too many calls wait for an answer already',
  timeout: 'Nobody answered in time',
  ended: 'The session ended before the answer came',
  cancelled: 'The call was cancelled before the answer came',
  refused: 'The client answered with an error',
};

/** A question that got no answer. */
export class UnansweredError extends Error {
  override readonly name = 'UnansweredError';
  constructor(
    readonly why: Unanswered,
    options?: ErrorOptions,
  ) {
    super(explanations[why], options);
  }
}

/**
 * Ask the client and park the call until the answer comes. Settles exactly once: with the answer's result, or with an
 * {@link UnansweredError}; then neither timer nor place in the session is left.
 */
export async function askClient(context: CallContext, request: InputRequest): Promise<Record<string, unknown>> {
  const { caller, core } = context;
  const { session } = caller;
  if (session === undefined) throw new UnansweredError('unreachable');
  // Whoever asks after the call has its answer (a handler that ran out of time) asks nobody.
  if (context.ended || context.signal.aborted) throw new UnansweredError('cancelled');
  if (!caller.parked.enter(caller.principal)) throw new UnansweredError('too-many');
  const id = session.createQuestionId();
  let timer: NodeJS.Timeout | undefined;
  let signOfLife: NodeJS.Timeout | undefined;
  let cancelled: (() => void) | undefined;
  try {
    const response = await new Promise<JsonRpcResponse>((resolve, reject) => {
      const waits = session.addQuestion(id, (answer) => {
        if (typeof answer === 'object') resolve(answer);
        else reject(new UnansweredError(answer ?? 'ended'));
      });
      if (!waits) return reject(new UnansweredError('ended'));
      const withdraw = (why: 'timeout' | 'cancelled'): void => {
        if (!session.removeQuestion(id)) return;
        reject(new UnansweredError(why));
        // 2025-11-25, lifecycle, "Timeouts": say that nobody waits any more. At once: a cancelled call's reply ends next.
        caller.send({
          jsonrpc: '2.0',
          method: 'notifications/cancelled',
          params: { requestId: id, reason: explanations[why] },
        });
      };
      cancelled = () => withdraw('cancelled');
      context.signal.addEventListener('abort', cancelled);
      timer = setTimeout(withdraw, core.elicitationTimeoutMs, 'timeout').unref();
      if (context.progressToken !== undefined) {
        signOfLife = setInterval(() => context.waiting('Waiting for an answer'), progressIntervalMs).unref();
      }
      if (
        !caller.send({
          jsonrpc: '2.0',
          id,
          method: request.method,
          params: request.params as Record<string, unknown> | undefined,
        })
      )
        reject(new UnansweredError('unreachable'));
    });
    if ('result' in response) return response.result;
    throw new UnansweredError('refused', { cause: response.error });
  } finally {
    clearTimeout(timer);
    clearInterval(signOfLife);
    if (cancelled !== undefined) context.signal.removeEventListener('abort', cancelled);
    session.removeQuestion(id);
    caller.parked.leave(caller.principal);
  }
}
