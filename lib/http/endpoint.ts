/** POST: a message in, its reply out. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { CallContext } from '../call-context';
import type { RequestMeta } from '../caller';
import { dispatch, hookOf, isRequestMethod } from '../dispatcher';
import { isTooDeep, maxDepth } from '../protocol/depth';
import { ErrorCode, McpError, UnavailableError } from '../protocol/errors';
import { parseMessage, readableIdOf } from '../protocol/json-rpc';
import type { ParsedMessage } from '../protocol/json-rpc';
import { isPromise } from '../protocol/promise';
import type { JsonRpcRequest } from '../protocol/types';
import { legacyMeta } from '../request-meta';
import type { Session } from '../sessions/session';
import { postBatch } from './batch';
import { readMessageBody } from './body';
import { HttpCaller, HttpCall } from './caller';
import { HttpError, tryLater } from './http-error';
import { checkDecided, identify } from './identity';
import type { Identity } from './identity';
import { isModern, isModernVersion, readModernMessage } from './modern-headers';
import type { Mount } from './mount';
import { acceptable, isJsonContentType } from './negotiation';
import { Reply } from './reply';
import { findSession, initializedSession } from './session-of';

/**
 * Carry out one POST.
 *
 * @throws {HttpError} for what is refused before it is dispatched; nothing has been answered then.
 */
export async function postMessage(mount: Mount, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { headers } = req;
  if (!isJsonContentType(headers['content-type'])) {
    throw new HttpError(415, ErrorCode.InvalidRequest, 'Content-Type must be application/json, in UTF-8');
  }
  const reading = readMessageBody(req, headers, mount.options.maxBodyBytes);
  const body: unknown = isPromise(reading) ? await reading : reading;
  checkDepth(body, headers);
  const identity = identify(req, mount.options);
  if (Array.isArray(body)) return postBatch(mount, req, res, body, identity);

  const admitting = admit(mount, req, headers, body, identity);
  const admitted = isPromise(admitting) ? await admitting : admitting;
  const { parsed, meta, session } = admitted;
  if (parsed.kind !== 'request') {
    const caller = new HttpCaller(mount, req, res, identity, session, undefined);
    const context = new CallContext(mount.core, caller, meta, '', undefined);
    const { unavailable } = await dispatch(mount.core, parsed, context);
    if (unavailable !== undefined) throw tryLater(503, unavailable.message);
    return accept(mount, res);
  }
  const { id, method } = parsed.message;
  const accepted = acceptable(headers.accept, id);
  const reply = new Reply(mount, req, res, accepted, { session, revision: meta.revision, identity });
  const caller = new HttpCaller(mount, req, res, identity, session, reply);
  const context = new CallContext(mount.core, caller, meta, method, id);
  const call = new HttpCall(context, caller, reply);
  try {
    begin(call, parsed.message);
    if (mount.options.stream === 'always' && meta.revision.era === 'legacy') reply.startStream();
    reply.end(await dispatch(mount.core, parsed, context));
  } finally {
    call.end();
    reply.release();
  }
}

/** A short body cannot be deep, since every level takes two characters; a long one is walked once. */
function checkDepth(
  body: unknown,
  { 'content-length': length, 'content-encoding': coding }: IncomingHttpHeaders,
): void {
  if ((coding === undefined && Number(length) <= 2 * maxDepth) || !isTooDeep(body)) return;
  throw underId(
    new HttpError(400, ErrorCode.InvalidRequest, `The message is nested deeper than ${maxDepth} levels`),
    body,
  );
}

/** A message that may be dispatched: which revision it speaks, which session it belongs to. */
interface Admitted {
  readonly parsed: ParsedMessage;
  readonly meta: RequestMeta;
  readonly session: Session | undefined;
}

/** A value where nothing has to be waited for. @throws {HttpError} under the message's id, where it can be read. */
function admit(
  mount: Mount,
  req: IncomingMessage,
  headers: IncomingHttpHeaders,
  body: unknown,
  identity: Identity,
): Admitted | Promise<Admitted> {
  try {
    const parsed = parseMessage(body);
    if (parsed.kind === 'notification' && isRequestMethod(parsed.message.method)) {
      throw new McpError(ErrorCode.InvalidRequest, 'A request needs an id');
    }
    checkDecided(mount.core, parsed.kind === 'response' ? 'any' : hookOf(parsed.message), req);
    if (parsed.kind !== 'response') {
      if (isModern(parsed.message, headers))
        return { parsed, meta: readModernMessage(parsed.message, headers), session: undefined };
    } else if (isModernVersion(headers['mcp-protocol-version'])) {
      throw new HttpError(400, ErrorCode.InvalidRequest, 'A client of this revision sends no responses');
    }
    const admitting =
      parsed.kind === 'request' && parsed.message.method === 'initialize'
        ? admitInitialize(mount, headers, parsed, identity)
        : admitLegacy(mount, headers, parsed, identity);
    if (!isPromise(admitting)) return admitting;
    return admitting.catch((error: unknown) => {
      throw underId(error, body);
    });
  } catch (error) {
    throw underId(error, body);
  }
}

function admitLegacy(
  mount: Mount,
  headers: IncomingHttpHeaders,
  parsed: ParsedMessage,
  identity: Identity,
): Admitted | Promise<Admitted> {
  const finding = findSession(mount, headers, identity);
  const admitTo = (session: Session): Admitted => ({ parsed, meta: legacyMeta(session, parsed), session });
  return isPromise(finding) ? finding.then(admitTo) : admitTo(finding);
}

async function admitInitialize(
  mount: Mount,
  headers: IncomingHttpHeaders,
  parsed: ParsedMessage,
  identity: Identity,
): Promise<Admitted> {
  if (headers['mcp-session-id'] !== undefined && (await initializedSession(mount, headers, identity)) !== undefined) {
    // 2025-11-25, lifecycle: initialization is the first interaction, and happens once.
    throw new HttpError(400, ErrorCode.InvalidRequest, 'This session is initialized already');
  }
  return { parsed, meta: legacyMeta(undefined, parsed), session: undefined };
}

/** The refusal as HTTP sends it: under the id that the message shows. */
export function underId(thrown: unknown, message: unknown): unknown {
  const error = thrown instanceof UnavailableError ? tryLater(503, thrown.message) : thrown;
  const id = readableIdOf(message);
  if (error instanceof HttpError) {
    return id === undefined
      ? error
      : new HttpError(error.status, error.code, error.message, {
          headers: error.headers,
          data: error.data,
          cause: error.cause,
          id,
        });
  }
  return error instanceof McpError ? new HttpError(400, error.code, error.message, { data: error.data, id }) : error;
}

/** transports, "Sending Messages": what wants no answer gets 202 and no body. */
function accept(mount: Mount, res: ServerResponse): void {
  mount.reports.countRequest(202);
  res.writeHead(202, { 'Content-Length': 0 });
  res.end();
}

function begin(call: HttpCall, message: JsonRpcRequest): void {
  try {
    call.begin();
  } catch (error) {
    throw underId(error, message);
  }
}
