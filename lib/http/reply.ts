/** The HTTP answer to one POST: plain JSON, or a stream from the first thing that must precede the result. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { CallContext } from '../call-context';
import type { Subscription } from '../caller';
import type { Notice } from '../core';
import type { Outcome } from '../dispatcher';
import { encodeTagged } from '../methods/subscriptions';
import { ErrorCode, errorResponse } from '../protocol/errors';
import { encodedResultOf, encodeResponse } from '../protocol/json-rpc';
import type { Revision } from '../protocol/revisions';
import type { JsonRpcNotification, JsonRpcRequest, JsonRpcResponse } from '../protocol/types';
import type { Session } from '../sessions/session';
import { Stream } from '../sessions/stream';
import type { AcceptedTypes } from './negotiation';
import { sendJson } from './http-error';
import { challengeOf } from './auth-info';
import { expiresAt } from './identity';
import type { Identity } from './identity';
import { tryLater } from './mount';
import type { Mount, Open } from './mount';
import type { SseSink } from './sse';
import { eventIdPrefix } from './event-id';

/** How long a whole answer waits for the store; then it goes out as one that cannot be resumed. */
const patienceMs = 250;

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
  readonly #expiresAt: number;
  readonly #isBatch: boolean;
  readonly #startedAt = Date.now();
  /** The calls that the reply answers: one, or those of a batch. */
  readonly calls: CallContext[] = [];
  #stream: Stream | undefined;
  #streamId: string | undefined;
  #sink: SseSink | undefined;
  /** No event id is given out before the store knows what it means: the head waits for that, too. */
  #waitsForStore = false;
  #patience: NodeJS.Timeout | undefined;
  #closesWhenOpen = false;
  #over = false;
  #watching = false;
  /** `subscriptions/listen`: hears notices until the reply is over. */
  #hear: ((notice: Notice) => void) | undefined;
  /** The result of listening, for the end of the stream. */
  #heldBack: JsonRpcResponse | undefined;
  /** Hears when a reply that listens is over. */
  onOver: (() => void) | undefined;

  constructor(mount: Mount, req: IncomingMessage, res: ServerResponse, accepted: AcceptedTypes, about: ReplyAbout) {
    this.#mount = mount;
    this.#req = req;
    this.#res = res;
    this.#accepted = accepted;
    this.#session = about.session;
    this.#revision = about.revision;
    this.#isBatch = about.isBatch ?? false;
    // Streams end with the caller's token.
    this.#expiresAt = expiresAt(about.identity);
    mount.add(this);
  }

  /** Can the reply be a stream? */
  get canListen(): boolean {
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
    if (this.#stream !== undefined || this.#over || !this.#accepted.sse) return;
    if (this.#res.headersSent || this.#res.destroyed) return;
    // Its answer has the session's id in its head, and that is not known yet.
    if (this.calls[0]?.method === 'initialize') return;
    const { inboxLimit, inboxBytes, serverMessages } = this.#mount.options;
    const session = this.#session;
    // What no GET can resume is not made to look as if.
    const opened =
      serverMessages && session?.endReason === undefined
        ? session?.openStream(() => this.calls.map(({ requestId }) => requestId!))
        : undefined;
    const stream = (this.#stream =
      opened?.stream ??
      new Stream({ waitingLimit: inboxLimit, waitingBytes: inboxBytes, historyLimit: 0, historyBytes: 0 }));
    this.#streamId = opened?.id;
    if (opened?.resumable === undefined) return this.#openSink(stream, opened?.id);
    this.#waitsForStore = true;
    this.#openWithin(this.#mount.options.keepAliveMs);
    opened.resumable
      .then((resumable) => this.#openSink(stream, resumable ? opened.id : undefined))
      .catch((error: unknown) => this.#mount.reports.onError(error, this.calls[0]));
  }

  /** However long the store takes, the client hears something by then, of a stream that it cannot resume. */
  #openWithin(waitMs: number): void {
    clearTimeout(this.#patience);
    this.#patience = setTimeout(() => {
      try {
        this.#openSink(this.#stream!, undefined);
      } catch (error) {
        this.#mount.reports.onError(error, this.calls[0]);
      }
    }, waitMs).unref();
  }

  /** @param resumableAs What no GET can resume is not made to look as if. */
  #openSink(stream: Stream, resumableAs: string | undefined): void {
    this.#waitsForStore = false;
    clearTimeout(this.#patience);
    if (this.#over) this.#mount.remove(this);
    // Whoever is in front of us may have answered meanwhile.
    if (this.#sink !== undefined || this.#res.headersSent || this.#res.destroyed) return;
    this.#sink = this.#mount.openStream(this.#res, {
      ...(resumableAs === undefined ? undefined : { idPrefix: eventIdPrefix(this.#session!, resumableAs) }),
      // transports, "Sending Messages" 6, from 2025-11-25 on: older clients choke on an event without data.
      ...(resumableAs !== undefined && this.#revision.primingEvent
        ? { primeWith: 0, retryMs: jittered(this.#mount.options.retryMs) }
        : undefined),
      onDrain: () => stream.pump(),
      onClose: () => this.#streamClosed(),
    });
    stream.attach(this.#sink);
    if (this.#closesWhenOpen && resumableAs !== undefined) stream.close();
  }

  /** Close the connection while the call goes on. @returns False if this client could not come back for the rest. */
  closeStream(): boolean {
    if (!this.#revision.primingEvent) return false;
    this.startStream();
    if (this.#waitsForStore) return (this.#closesWhenOpen = true);
    if (this.#over || this.#streamId === undefined || this.#stream?.attached !== true) return false;
    // transports, "Sending Messages" 6: the priming event has told the client when to come back.
    this.#stream.close();
    return true;
  }

  /** Answer: plain JSON, or the last event. */
  end({ response: answer, challenge, unavailable }: Outcome): void {
    if (this.#over) return;
    const response = answer!;
    if (this.#hear !== undefined && 'result' in response && !this.#mount.closing) {
      this.#heldBack = response;
      this.calls.length = 0;
      return;
    }
    const encoded = encodedResultOf(response);
    if (encoded !== undefined && this.#stream === undefined && this.#accepted.json) {
      this.#finish();
      return this.#writeJson(200, encoded.end(response.id), undefined, encoded.start);
    }
    const json = this.#encode(response);
    if (this.#stream !== undefined) return this.#endStream([json]);
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
    if (this.#stream !== undefined) return this.#endStream(encoded);
    this.#finish();
    this.#write(200, `[${encoded.join(',')}]`);
  }

  /** The call has its result, and the stream goes on until somebody ends it. */
  get listens(): boolean {
    return this.#heldBack !== undefined && !this.#over;
  }

  /** Whatever became of the call: nothing of the reply stays behind. */
  release(): void {
    if (!this.#over) this.#finish();
  }

  #endStream(encoded: readonly string[]): void {
    // A result is never dropped for notifications.
    for (const json of encoded) this.#stream!.send(json, undefined, true);
    this.#finish();
  }

  #write(status: number, json: string, headers?: OutgoingHttpHeaders): void {
    if (this.#accepted.json || status !== 200) return this.#writeJson(status, json, headers);
    if (this.#res.destroyed) return;
    // Only a stream will do: it begins and ends with the result.
    const sink = this.#mount.openStream(this.#res, { onDrain() {}, onClose() {} });
    sink.write({ position: 1, json, bytes: 0, mergeKey: undefined });
    sink.close();
  }

  #writeJson(status: number, json: string, headers?: OutgoingHttpHeaders, start?: Buffer): void {
    if (this.#res.destroyed) return;
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
    if (wasStream || this.#res.headersSent || this.#res.destroyed) return;
    this.#mount.reports.countRequest(202);
    this.#res.writeHead(202, { 'Content-Length': 0 });
    this.#res.end();
  }

  /** One of the calls will not be answered. The last one takes the reply with it. */
  callCancelled(): void {
    if (this.calls.every((call) => call.cancelled)) this.abandon();
  }

  #finish(): void {
    this.#over = true;
    this.#stream?.finish();
    if (this.#hear !== undefined) this.#mount.core.listeners.delete(this.#hear);
    this.onOver?.();
    if (this.#waitsForStore) this.#openWithin(patienceMs);
    else this.#mount.remove(this);
    if (this.#streamId !== undefined && this.#session !== undefined)
      this.#session.streamFinished(this.#streamId, Date.now());
  }

  /** Somebody wants to know when the client goes: a plain reply has nobody listening for that until then. */
  watchDisconnect(): void {
    if (this.#watching || this.#over) return;
    this.#watching = true;
    if (this.#res.destroyed) this.#disconnected();
    else this.#res.once('close', () => this.#disconnected());
  }

  #streamClosed(): void {
    if (this.#sink !== undefined) this.#stream?.detach(this.#sink);
    this.#disconnected();
  }

  #disconnected(): void {
    // 2025-11-25, transports: a disconnection is no cancellation; the client may come back for the rest.
    if (this.#over || this.#revision.era === 'legacy') return;
    // streamable-http, "Cancellation": closing the stream is the client's way to cancel.
    for (const call of this.calls) call.cancel('The client closed the connection');
    this.abandon();
  }

  /** `subscriptions/listen`: the acknowledgement, then what the subscription selects, until the reply is over. */
  listen({ id, acknowledgement, wants }: Subscription): void {
    if (this.#over) return;
    this.send(acknowledgement);
    this.#hear = (notice) => {
      // Full: the stream ends, which tells the client to fetch anew what it listened for.
      if (wants(notice) && this.#stream?.send(encodeTagged(notice, id), notice.mergeKey) === false) this.#sink?.close();
    };
    this.#mount.core.listeners.add(this.#hear);
  }

  tick(now: number): void {
    const { keepAliveMs, maxStreamAgeMs, retryMs } = this.#mount.options;
    const sink = this.#sink;
    if (sink === undefined) {
      if (this.#res.destroyed) this.#disconnected();
      else if (now - this.#startedAt >= keepAliveMs) this.startStream();
      return;
    }
    if (now >= this.#expiresAt) sink.close();
    else if (this.#streamId !== undefined && this.#revision.primingEvent && now - sink.openedAt >= maxStreamAgeMs) {
      // transports, "Sending Messages" 6: the connection may close before the stream ends; the client polls.
      sink.writeRetry(jittered(retryMs));
      sink.close();
    }
  }

  shutdown(): void {
    if (this.#heldBack === undefined) return;
    if (this.#stream === undefined) this.abandon();
    else this.#endStream([this.#encode(this.#heldBack)]);
  }

  abort(): void {
    const message = 'The server is shutting down';
    for (const call of this.calls) call.cancel(message);
    this.fail(message, 503);
  }

  /** Answer with an error what has no answer yet. */
  fail(message: string, status = 200): void {
    if (this.#over) return;
    const failures = this.calls.map(({ requestId }) =>
      this.#encode(errorResponse(requestId, ErrorCode.InternalError, message)),
    );
    if (this.#stream !== undefined) return this.#endStream(failures);
    this.#finish();
    this.#write(status, this.#isBatch ? `[${failures.join(',')}]` : failures[0]!);
  }
}

/** What HTTP says about an answer of the protocol; errors of methods are no errors of HTTP. */
function statusOf(response: JsonRpcResponse, { methodNotFoundStatus }: Revision): number {
  if (!('error' in response)) return 200;
  switch (response.error.code) {
    case ErrorCode.MethodNotFound:
      return methodNotFoundStatus;
    case ErrorCode.HeaderMismatch:
    case ErrorCode.MissingRequiredClientCapability:
    case ErrorCode.UnsupportedProtocolVersion:
      return 400;
    default:
      return 200;
  }
}

/** Up to half as much again, so that clients do not all come back at once. */
export function jittered(ms: number): number {
  return Math.round(ms * (1 + Math.random() / 2));
}
