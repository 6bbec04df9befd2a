/** GET: the stream of what the server says on its own, or a reply's stream resumed. DELETE: the session's end. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ErrorCode } from '../protocol/errors';
import { isPromise } from '../protocol/promise';
import type { Session } from '../sessions/session';
import { standaloneStreamId } from '../sessions/session';
import type { Stream } from '../sessions/stream';
import { eventIdPrefix, parseEventId } from './event-id';
import { HttpError, isTaken, shuttingDown } from './http-error';
import { checkDecided, expiresAt, identify } from './identity';
import { isModernVersion } from './modern-headers';
import type { Mount } from './mount';
import { acceptedTypes } from './negotiation';
import { findSession, noSession } from './session-of';
import { jittered } from './sse';
import type { SseSink } from './sse';
import type { Open } from './watch';

/** A live stream that was replaced must not come back and replace its successor. */
const noLeapfrogMs = 60_000;

/** @throws {HttpError} 405 naming what is allowed. */
function refuseMethod(mount: Mount): never {
  const allow = mount.options.serverMessages ? 'POST, GET, DELETE' : 'POST, DELETE';
  throw new HttpError(405, ErrorCode.InvalidRequest, 'Method not allowed', { headers: { Allow: allow } });
}

/**
 * Open the session's stream, or resume one.
 *
 * @throws {HttpError} for what is refused; nothing has been answered then.
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server
 */
export async function getStream(mount: Mount, req: IncomingMessage, res: ServerResponse): Promise<void> {
  if (!mount.options.serverMessages || isModernVersion(req.headers['mcp-protocol-version'])) refuseMethod(mount);
  if (!acceptedTypes(req.headers.accept).sse)
    throw new HttpError(406, ErrorCode.InvalidRequest, 'Accept must list text/event-stream');
  const identity = identify(req, mount.options);
  checkDecided(mount.core, 'any', req);
  const session = await findSession(mount, req.headers, identity);
  const lastEventId = req.headers['last-event-id'];
  const resumed = lastEventId === undefined || lastEventId === '' ? undefined : parseLastEventId(session, lastEventId);
  const streamId = resumed?.streamId ?? standaloneStreamId;
  const isOwn = streamId === standaloneStreamId;
  // What is refused takes no stream away from anybody, on whichever node; one that is replaced here leaves its place.
  let hasPlace = !isOwn || session.findStream(streamId)?.attached !== true;
  if (hasPlace) mount.enterListening(identity.principal);
  try {
    const finding = mount.sessions.findStream(session, streamId, resumed?.position);
    const stream = isPromise(finding) ? await finding : finding;
    // The client has gone meanwhile, or whoever is in front of us has answered: there is nobody to open a stream for.
    if (isTaken(res)) return;
    if (mount.closing) throw shuttingDown();
    if (session.endReason !== undefined) throw noSession();
    if (stream?.reaches(resumed?.position ?? 0) !== true) throw notResumable();
    if (isOwn) {
      checkLeapfrog(session, stream);
      stream.close();
      session.listened = true;
    }
    if (!hasPlace) mount.enterListening(identity.principal);
    hasPlace = false;
    new SessionStream(mount, res, session, { ...resumed, stream, streamId }, expiresAt(identity), () =>
      mount.listening.leave(identity.principal),
    );
  } finally {
    if (hasPlace) mount.listening.leave(identity.principal);
  }
}

/** @throws {HttpError} 400 for an event that is none of this session's. */
function parseLastEventId(session: Session, lastEventId: string | string[]): { streamId: string; position: number } {
  const event = typeof lastEventId === 'string' ? parseEventId(lastEventId, session) : undefined;
  if (event === undefined) throw notResumable();
  return event;
}

/** Another session's event, one that never was, or one whose stream is forgotten. */
function notResumable(): HttpError {
  return new HttpError(400, ErrorCode.InvalidRequest, 'Last-Event-ID names no event that can be resumed after');
}

/** @throws {HttpError} 409 while the newer of two live streams has just won. */
function checkLeapfrog(session: Session, stream: Stream): void {
  if (!stream.isRead) return;
  const now = Date.now();
  if (now - (session.replacedAt ?? -Infinity) < noLeapfrogMs)
    throw new HttpError(409, ErrorCode.InvalidRequest, 'Another stream of this session is open');
  session.replacedAt = now;
}

/** What a GET opens. */
interface Wanted {
  readonly stream: Stream;
  readonly streamId: string;
  /** What the client has seen, where it resumes. */
  readonly position?: number;
}

/** One GET's stream. Ends with the client's going, the stream's end, another GET, or the mount's. */
class SessionStream implements Open {
  readonly #mount: Mount;
  readonly #session: Session;
  readonly #sink: SseSink;
  readonly #expiresAt: number;

  constructor(
    mount: Mount,
    res: ServerResponse,
    session: Session,
    { stream, streamId, position }: Wanted,
    expiresAt: number,
    onClose: () => void,
  ) {
    this.#mount = mount;
    this.#session = session;
    this.#expiresAt = expiresAt;
    const retryMs = jittered(mount.options.retryMs);
    this.#sink = mount.openStream(res, {
      idPrefix: eventIdPrefix(session, streamId),
      ...(session.revision.primingEvent ? { primeWith: position ?? stream.position, retryMs } : undefined),
      onDrain: () => stream.pump(),
      onClose: () => {
        stream.detach(this.#sink);
        session.lastActiveAt = Date.now();
        mount.watch.remove(this);
        onClose();
      },
    });
    mount.watch.add(this);
    stream.attach(this.#sink, position);
  }

  tick(now: number): void {
    if (now >= this.#expiresAt || this.#session.endReason !== undefined) this.#sink.close();
    else this.#sink.closeAt(this.#mount.options, now);
  }

  shutdown(): void {
    this.#sink.close();
  }

  abort(): void {
    this.#sink.close();
  }
}

/**
 * End the session.
 *
 * @throws {HttpError} for what is refused.
 */
export async function deleteSession(mount: Mount, req: IncomingMessage, res: ServerResponse): Promise<void> {
  if (isModernVersion(req.headers['mcp-protocol-version'])) refuseMethod(mount);
  const identity = identify(req, mount.options);
  checkDecided(mount.core, 'any', req);
  const session = await findSession(mount, req.headers, identity);
  // Somebody else was faster, perhaps on another node.
  if (!(await mount.sessions.end(session, 'client'))) throw noSession();
  mount.reports.countRequest(204);
  res.writeHead(204);
  res.end();
}

/** Every other verb. */
export async function otherMethod(mount: Mount): Promise<never> {
  return refuseMethod(mount);
}
