/** The caller of an HTTP request, as the protocol knows it: who, which session, and how to reach them before the reply. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CallContext } from '../call-context';
import type { Caller, ParkedCalls, Subscription } from '../caller';
import type { AuthInfo } from '../protocol/auth-info';
import { UnavailableError } from '../protocol/errors';
import type { JsonRpcNotification, JsonRpcRequest, RequestId } from '../protocol/types';
import type { RunningCall, Session, SessionEndReason } from '../sessions/session';
import type { SessionRecord } from '../sessions/session-store';
import type { Identity } from './identity';
import type { Mount } from './mount';
import type { Places } from './places';
import type { Reply } from './reply';
import type { Reports } from './reports';

/** One HTTP request's caller. Lives as long as the request. */
export class HttpCaller implements Caller {
  readonly transport = 'http';
  readonly principal: string | undefined;
  readonly auth: AuthInfo | undefined;
  readonly hearsServer: boolean;
  readonly parked: ParkedCalls;
  readonly toolTimeoutMs: number | undefined;
  readonly onError: Reports['onError'];

  constructor(
    readonly mount: Mount,
    readonly request: IncomingMessage,
    readonly res: ServerResponse,
    { principal, auth }: Identity,
    readonly session: Session | undefined,
    /** None for notifications and responses: they have no reply to speak of. */
    readonly reply: Reply | undefined,
  ) {
    this.principal = principal;
    this.auth = auth;
    this.hearsServer = mount.options.serverMessages;
    this.parked = mount.parked;
    this.toolTimeoutMs = mount.options.toolTimeoutMs ?? mount.core.toolTimeoutMs;
    this.onError = mount.reports.onError;
  }

  get listen(): ((subscription: Subscription) => void) | undefined {
    const { reply } = this;
    return reply?.canStream === true ? (subscription) => reply.listen(subscription) : undefined;
  }

  async openSession(record: Omit<SessionRecord, 'id' | 'principal'>): Promise<void> {
    const session = await this.mount.sessions.open({ ...record, principal: this.principal });
    if (session === undefined) throw new UnavailableError('Too many sessions are open');
    this.mount.watch.start();
    this.mount.reports.sessionOpened(session);
    this.res.setHeader('Mcp-Session-Id', session.record.id);
  }

  async saveSession(): Promise<void> {
    if (this.session !== undefined) await this.mount.sessions.save(this.session);
  }

  cancelCall(id: RequestId, reason: unknown): unknown {
    return this.session?.cancelCall(id, reason);
  }

  send(message: JsonRpcNotification | JsonRpcRequest): boolean {
    // Once the mount closes, no answer can come in.
    if ('id' in message && this.mount.closing) return false;
    return this.reply?.send(message) ?? false;
  }

  startStream(): void {
    this.reply?.startStream();
  }

  closeStream(): boolean {
    return this.reply?.closeStream() ?? false;
  }

  watchDisconnect(): void {
    this.reply?.watchDisconnect();
  }
}

/**
 * A call over HTTP: has its place, is found by the client's cancellation, ends with its session. Runs from
 * {@link HttpCall.begin} to {@link HttpCall.end}.
 */
export class HttpCall implements RunningCall {
  /** Where it has its place. */
  #places: Places | undefined;

  constructor(
    readonly context: CallContext,
    readonly caller: HttpCaller,
    readonly reply: Reply,
  ) {}

  get requestId(): RequestId {
    return this.context.requestId!;
  }

  /** @throws {HttpError} 503 or 429 at a cap; nothing has begun then. */
  begin(): void {
    const { mount, principal, session } = this.caller;
    const { method } = this.context;
    // The dispatcher knows no Retry-After.
    if (method === 'initialize') mount.checkRoom(principal);
    this.#places =
      method === 'subscriptions/listen' ? mount.enterListening(principal) : mount.enterCall(principal, session);
    this.reply.calls.push(this.context);
    session?.addCall(this);
  }

  /** A stream that outlives its call keeps the place. */
  end(): void {
    if (this.#places === undefined) return;
    const { principal, session } = this.caller;
    session?.removeCall(this);
    if (!this.reply.listens) this.#places.leave(principal);
    this.#places = undefined;
  }

  cancel(reason: unknown): void {
    this.context.cancel(reason);
    this.reply.callCancelled();
  }

  sessionEnded(reason: SessionEndReason): void {
    const message = `The session ended (${reason})`;
    this.context.cancel(message);
    // A call that was parked has its denial in a moment, and answers with that.
    setImmediate(() => this.reply.fail(message));
  }
}
