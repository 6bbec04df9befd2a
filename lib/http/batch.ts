/**
 * A batch of messages in one POST: part of 2025-03-26 only.
 *
 * @see https://modelcontextprotocol.io/specification/2025-03-26/basic#batching
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { CallContext } from '../call-context';
import { dispatch, hookOf, isRequestMethod } from '../dispatcher';
import { ErrorCode, errorResponse, McpError, UnavailableError } from '../protocol/errors';
import { parseMessage, readableIdOf } from '../protocol/json-rpc';
import type { JsonRpcResponse } from '../protocol/types';
import { legacyMeta } from '../request-meta';
import type { Session } from '../sessions/session';
import { HttpCaller, HttpCall } from './caller';
import { HttpError } from './http-error';
import { checkDecided } from './identity';
import type { Identity } from './identity';
import { isModernVersion } from './modern-headers';
import type { Mount } from './mount';
import { acceptable } from './negotiation';
import { Reply } from './reply';
import { findSession } from './session-of';

/** Carry out every message of a batch, each with its own authorization, and answer them together. */
export async function postBatch(
  mount: Mount,
  req: IncomingMessage,
  res: ServerResponse,
  batch: readonly unknown[],
  identity: Identity,
): Promise<void> {
  const refusal = (message: string) => new HttpError(400, ErrorCode.InvalidRequest, message);
  checkDecided(mount.core, 'any', req);
  if (batch.length === 0) throw refusal('An empty batch is no message');
  if (isModernVersion(req.headers['mcp-protocol-version'])) throw refusal('Batches are not part of this revision');
  if (req.headers['mcp-session-id'] === undefined)
    throw refusal('Batches are served within a session of 2025-03-26 only');
  const session = await findSession(mount, req.headers, identity);
  if (!session.revision.batches) throw refusal('Batches are not part of the revision of this session');
  if (batch.length > mount.options.maxBatch) throw refusal(`A batch may have ${mount.options.maxBatch} messages`);
  const accepted = acceptable(req.headers.accept);

  const reply = new Reply(mount, req, res, accepted, { session, revision: session.revision, identity, isBatch: true });
  try {
    const answers = await Promise.all(
      batch.map((element) => carryOut(mount, req, res, element, { session, identity, reply })),
    );
    const responses = answers.flatMap((answer) =>
      answer === undefined || answer instanceof UnavailableError ? [] : [answer],
    );
    const lost = answers.find((answer) => answer instanceof UnavailableError);
    if (responses.length > 0) reply.endBatch(responses);
    else if (lost !== undefined) throw lost;
    else reply.abandon();
  } finally {
    reply.release();
  }
}

interface BatchContext {
  readonly session: Session;
  readonly identity: Identity;
  readonly reply: Reply;
}

async function carryOut(
  mount: Mount,
  req: IncomingMessage,
  res: ServerResponse,
  element: unknown,
  { session, identity, reply }: BatchContext,
): Promise<JsonRpcResponse | UnavailableError | undefined> {
  let call: HttpCall | undefined;
  try {
    const parsed = parseMessage(element);
    const { kind, message } = parsed;
    const method = kind === 'response' ? '' : message.method;
    if (kind !== 'response') checkDecided(mount.core, hookOf(message), req);
    if (kind === 'notification' && isRequestMethod(method))
      throw new McpError(ErrorCode.InvalidRequest, 'A request needs an id');
    // 2025-03-26, lifecycle: initialize is never part of a batch.
    if (method === 'initialize') throw new McpError(ErrorCode.InvalidRequest, 'initialize must not be part of a batch');
    const caller = new HttpCaller(mount, req, res, identity, session, reply);
    const id = kind === 'request' ? message.id : undefined;
    const context = new CallContext(mount.core, caller, legacyMeta(session, parsed), method, id);
    if (kind === 'request') {
      call = new HttpCall(context, caller, reply);
      call.begin();
    }
    const { response, unavailable } = await dispatch(mount.core, parsed, context);
    // What wants no answer and could not be handed on.
    if (response === undefined) return unavailable;
    return context.cancelled ? undefined : response;
  } catch (error) {
    if (!(error instanceof HttpError) && !(error instanceof McpError)) throw error;
    return errorResponse(readableIdOf(element), error.code, error.message, error.data);
  } finally {
    call?.end();
  }
}
