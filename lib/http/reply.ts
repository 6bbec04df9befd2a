/** The HTTP answer to one POST: plain JSON, or a stream from the first thing that must precede the result. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { CallContext } from '../call-context';
import type { Subscription } from '../caller';
import type { Outcome } from '../dispatcher';
import { ErrorCode, errorResponse } from '../protocol/errors';
import { encodedResultOf, encodeResponse } from '../protocol/json-rpc';
import type { Revision } from '../protocol/revisions';
import type { JsonRpcNotification, JsonRpcRequest, JsonRpcResponse } from '../protocol/types';
import type { Session } from '../sessions/session';
import { challengeOf } from './auth-info';
import { isTaken, sendJson, tryLater } from './http-error';
import { expiresAt } from './identity';
import type { Identity } from './identity';
import { Listening } from './listening';
import type { Mount } from './mount';
import type { AcceptedTypes } from './negotiation';
import { ReplyStream } from './reply-stream';
import { statusOf } from './status';
import type { Open } from './watch';

/** Whose reply it is. */
export interface ReplyAbout {
  readonly isBatch?: boolean;
  readonly session: Session | undefined;
  readonly revision: Revision;
  readonly identity: Identity;
}

/** The reply to one POST. Ends with {@link Reply.end} or {@link Reply.abandon}, once; what comes later is ignored. */
export class Reply implements Open {
  readonly #mount: Mount;
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #accepted: AcceptedTypes;
  readonly #session: Session | undefined;
  readonly #revision: Revision;
  readonly #principal: string | undefined;
  readonly #expiresAt: number;
  readonly #isBatch: boolean;
  readonly #startedAt = Date.now();
  /** The calls that the reply answers: one, or those of a batch. */
  readonly calls: CallContext[] = [];
  #stream: ReplyStream | undefined;
  /** `subscriptions/listen` alone. */
  #listening: Listening | undefined;
  #over = false;
  #watching = false;

  constructor(mount: Mount, req: IncomingMessage, res: ServerResponse, accepted: AcceptedTypes, about: ReplyAbout) {
    this.#mount = mount;
    this.#req = req;
    this.#res = res;
    this.#accepted = accepted;
    this.#session = about.session;
    this.#revision = about.revision;
    this.#isBatch = about.isBatch ?? false;
    this.#principal = about.identity.principal;
    this.#expiresAt = expiresAt(about.identity);
    mount.watch.add(this);
  }

  /** Does this client take a stream? */
  get canStream(): boolean {
    return this.#accepted.sse;
  }

  /** Send something before the result. @returns False if this client cannot be reached before it. */
  send(message: JsonRpcNotification | JsonRpcRequest): boolean {
    if (this.#over) return false;
    if (!this.#accepted.sse) return this.#sendAside(message);
    this.startStream();
    const fits = this.#stream?.send(JSON.stringify(message)) ?? false;
    if (!fits) this.#overflow('id' in message);
    return fits;
  }

  /** A tool that reports faster than its client reads loses reports, not its session; a question is not lost silently. */
  #overflow(isQuestion: boolean): void {
    if (isQuestion && this.#session !== undefined && this.#stream?.attached)
      this.#mount.endSession(this.#session, 'inbox-full');
    else if (!isQuestion) this.#mount.reports.countUndeliverable();
  }

  /** A client that takes JSON only is asked on its GET stream, if it has one open; it is told of nothing else. */
  #sendAside(message: JsonRpcNotification | JsonRpcRequest): boolean {
    const session = this.#session;
    const isQuestion = 'id' in message || message.method === 'notifications/cancelled';
    if (isQuestion && session?.elsewhere !== undefined) return session.elsewhere.ask(JSON.stringify(message));
    return (
      isQuestion &&
      session?.listened === true &&
      session.standalone.attached &&
      this.#mount.tell(session, JSON.stringify(message))
    );
  }

  /** Become a stream now, if the client takes one. */
  startStream(): void {
    if (this.#stream !== undefined || this.#over || !this.#accepted.sse || isTaken(this.#res)) return;
    // Its answer has the session's id in its head, and that is not known yet.
    if (this.calls[0]?.method === 'initialize') return;
    this.#stream = new ReplyStream(this.#mount, this.#res, {
      session: this.#session,
      revision: this.#revision,
      requestIds: () => this.calls.map(({ requestId }) => requestId!),
      onClosed: () => this.#disconnected(),
      onError: (error) => this.#mount.reports.onError(error, this.calls[0]),
    });
  }

  /** Close the connection while the call goes on. @returns False if this client could not come back for the rest. */
  closeStream(): boolean {
    if (!this.#revision.primingEvent || this.#over) return false;
    this.startStream();
    return this.#stream?.letGo() ?? false;
  }

  /** Answer: plain JSON, or the last event. */
  end({ response: answer, challenge, unavailable }: Outcome): void {
    if (this.#over) return;
    const response = answer!;
    if (this.#listening !== undefined && 'result' in response && !this.#mount.closing) {
      this.#listening.result = response;
      this.calls.length = 0;
      return;
    }
    const encoded = encodedResultOf(response);
    if (encoded !== undefined && this.#stream === undefined && this.#accepted.json) {
      this.#finish();
      return this.#writeJson(200, encoded.end(response.id), undefined, encoded.start);
    }
    const json = this.#encode(response);
    if (this.#stream !== undefined) return this.#finish([json]);
    this.#finish();
    if (unavailable !== undefined) return this.#write(503, json, tryLater(503, '').headers);
    const write = challenge === undefined ? undefined : challengeOf(this.#req);
    if (challenge === undefined || write === undefined) return this.#write(statusOf(response, this.#revision), json);
    const { scopes, error } = challenge;
    // What HTTP refuses is an error, a tool's denial too.
    const refusal = errorResponse(response.id!, error.code, error.message, error.data);
    const demand = write({ error: 'insufficient_scope', scope: scopes });
    this.#write(403, this.#encode(refusal), { 'WWW-Authenticate': demand });
  }

  /** Answer a batch: one array, or an event for each. */
  endBatch(responses: readonly JsonRpcResponse[]): void {
    if (this.#over) return;
    const encoded = responses.map((response) => this.#encode(response));
    if (this.#stream === undefined && !this.#accepted.json) this.startStream();
    if (this.#stream !== undefined) return this.#finish(encoded);
    this.#finish();
    this.#write(200, `[${encoded.join(',')}]`);
  }

  /** The call has its result, and the stream goes on until somebody ends it. */
  get listens(): boolean {
    return this.#listening?.result !== undefined && !this.#over;
  }

  /** The call is over, whatever became of it: nothing of the reply stays behind, unless it listens. */
  release(): void {
    if (!this.#over && !this.listens) this.#finish();
  }

  #write(status: number, json: string, headers?: OutgoingHttpHeaders): void {
    if (this.#accepted.json || status !== 200) return this.#writeJson(status, json, headers);
    if (isTaken(this.#res)) return;
    // Only a stream will do: it begins and ends with the result.
    const sink = this.#mount.openStream(this.#res, { onDrain() {}, onClose() {} });
    sink.write({ position: 1, json, bytes: 0, mergeKey: undefined });
    sink.close();
  }

  #writeJson(status: number, json: string, headers?: OutgoingHttpHeaders, start?: Buffer): void {
    if (isTaken(this.#res)) return;
    this.#mount.reports.countRequest(status);
    sendJson(this.#res, status, json, headers, start);
  }

  /** A result that JSON cannot carry is the author's fault, and the caller must hear of it all the same. */
  #encode(response: JsonRpcResponse): string {
    try {
      return encodeResponse(response);
    } catch (error) {
      this.#mount.reports.onError(error, this.calls[0]);
      return encodeResponse({
        jsonrpc: '2.0',
        id: response.id!,
        error: { code: ErrorCode.InternalError, message: 'Internal error' },
      });
    }
  }

  /** Nothing more comes: all calls were cancelled, or there was nothing to answer. */
  abandon(): void {
    if (this.#over) return;
    const wasStream = this.#stream !== undefined;
    this.#finish();
    if (wasStream || isTaken(this.#res)) return;
    this.#mount.reports.countRequest(202);
    this.#res.writeHead(202, { 'Content-Length': 0 });
    this.#res.end();
  }

  /** One of the calls will not be answered. The last one takes the reply with it. */
  callCancelled(): void {
    if (this.calls.every((call) => call.cancelled)) this.abandon();
  }

  /** @param last What a stream ends with. */
  #finish(last: readonly string[] = []): void {
    this.#over = true;
    this.#stream?.end(last);
    this.#listening?.end();
    // It has outlived its call, and kept its place.
    if (this.#listening?.result !== undefined) this.#mount.listening.leave(this.#principal);
    this.#mount.watch.remove(this);
  }

  /** Somebody wants to know when the client goes: a plain reply has nobody listening for that until then. */
  watchDisconnect(): void {
    if (this.#watching || this.#over) return;
    this.#watching = true;
    if (this.#res.destroyed) this.#disconnected();
    else this.#res.once('close', () => this.#disconnected());
  }

  #disconnected(): void {
    // 2025-11-25, transports: a disconnection is no cancellation; the client may come back for the rest.
    if (this.#over || this.#revision.era === 'legacy') return;
    // streamable-http, "Cancellation": closing the stream is the client's way to cancel.
    for (const call of this.calls) call.cancel('The client closed the connection');
    this.abandon();
  }

  /** `subscriptions/listen`: the acknowledgement, then what the subscription selects, until the reply is over. */
  listen(subscription: Subscription): void {
    if (this.#over) return;
    this.send(subscription.acknowledgement);
    if (this.#stream !== undefined) this.#listening = new Listening(this.#mount.core, this.#stream, subscription);
  }

  tick(now: number): void {
    if (this.#stream === undefined) {
      if (this.#res.destroyed) this.#disconnected();
      else if (now - this.#startedAt >= this.#mount.options.keepAliveMs) this.startStream();
    } else if (now < this.#expiresAt) this.#stream.tick(now);
    // What only listens ends with its caller's token; a call that was allowed may finish, and its client come back for it.
    else if (this.listens) this.shutdown();
    else this.#stream.expire();
  }

  /** subscriptions, "Graceful Closure": what the server ends has a result. */
  shutdown(): void {
    if (this.listens) this.#finish([this.#encode(this.#listening!.result!)]);
  }

  abort(): void {
    const message = 'The server is shutting down';
    for (const call of this.calls) call.cancel(message);
    this.fail(message, 503);
  }

  /** Answer with an error what has no answer yet. */
  fail(message: string, status = 200): void {
    if (this.#over) return;
    if (this.calls.length === 0) return this.abandon();
    const failures = this.calls.map(({ requestId }) =>
      this.#encode(errorResponse(requestId, ErrorCode.InternalError, message)),
    );
    if (this.#stream !== undefined) return this.#finish(failures);
    this.#finish();
    this.#write(status, this.#isBatch ? `[${failures.join(',')}]` : failures[0]!);
  }
}
