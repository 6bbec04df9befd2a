/** An answer on its way to the node that asked; that node's name is part of the question's id. */
import { setTimeout as delay } from 'node:timers/promises';
import { UnavailableError } from '../protocol/errors';
import type { JsonRpcResponse } from '../protocol/types';
import type { SharedPart } from './shared-store';

/** How long an answer waits for a node that does not listen, and how often it is tried meanwhile. */
const patienceMs = 3_000;
const retryMs = 50;

/**
 * Hand the answer of session `id` to its node.
 *
 * @returns False if that node is gone, is this one, or never was.
 * @throws {UnavailableError} if it lives and does not listen.
 */
export async function forwardAnswer(shared: SharedPart, id: string, response: JsonRpcResponse): Promise<boolean> {
  const [node, ...rest] = String(response.id).split('.');
  if (node === undefined || node === shared.node || rest.length !== 1 || !/^[\w-]{1,32}$/.test(node)) return false;
  const giveUpAt = Date.now() + patienceMs;
  while (!(await shared.send(node, { kind: 'answer', id, response }))) {
    if (!(await shared.streams.isAlive(node))) return false;
    // It lives, and has lost its connection for a moment: nobody has heard the answer yet.
    if (Date.now() > giveUpAt) throw new UnavailableError('The process that asked cannot be reached right now');
    await delay(retryMs, undefined, { ref: false });
  }
  return true;
}
