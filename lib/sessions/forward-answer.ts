/** An answer on its way to the node that asked; that node's name is part of the question's id. */
import type { JsonRpcResponse } from '../protocol/types';
import { retryFor } from './retry-for';
import type { SharedPart } from './shared-store';

/** How long an answer waits for a node that does not listen. */
const patienceMs = 3_000;

/**
 * Hand the answer of session `id` to its node.
 *
 * @returns False if that node is gone, is this one, or never was.
 * @throws {UnavailableError} if it lives and does not listen.
 */
export async function forwardAnswer(shared: SharedPart, id: string, response: JsonRpcResponse): Promise<boolean> {
  const [node, ...rest] = String(response.id).split('.');
  if (node === undefined || node === shared.node || rest.length !== 1 || !/^[\w-]{1,32}$/.test(node)) return false;
  return retryFor(patienceMs, 'The process that asked cannot be reached right now', async () => {
    if (await shared.send(node, { kind: 'answer', id, response })) return true;
    // Where it lives, it has lost its connection for a moment: nobody has heard the answer yet.
    return (await shared.streams.isAlive(node)) ? 'again' : false;
  });
}
