/** The way to a server over HTTP: POST for every message, and the GET stream of a legacy session. */
import { McpError } from '../protocol/errors';
import { isObject } from '../protocol/json-rpc';
import type {
  JsonRpcErrorResponse,
  JsonRpcMessage,
  JsonRpcRequest,
  JsonRpcResponse,
  RequestId,
} from '../protocol/types';
import type { Channel, Receive } from './channel';
import { HttpStatusError } from './http-status-error';
import { readEvents } from './read-events';

/** Where to, and as whom. */
export interface HttpChannelOptions {
  readonly url: string;
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>;
  readonly isLegacy: boolean;
}

/** Be a client of the endpoint at `url`. Nothing is sent yet. */
export function openHttpChannel({ url, headers, isLegacy }: HttpChannelOptions, receive: Receive): Channel {
  const closed = new AbortController();
  let session: Record<string, string> = {};
  let standalone: Promise<void> | undefined;

  async function exchange(method: string, init: { body?: string; headers: object; signal?: AbortSignal }) {
    const signal = init.signal === undefined ? closed.signal : AbortSignal.any([closed.signal, init.signal]);
    const sent = { ...headers, ...session, ...init.headers };
    const response = await fetch(url, { method, redirect: 'manual', ...init, headers: sent, signal });
    if (!response.ok) throw await toError(response);
    return response;
  }

  function post(message: object, extra: object, signal?: AbortSignal): Promise<Response> {
    const accept = { Accept: 'application/json, text/event-stream', 'Content-Type': 'application/json' };
    return exchange('POST', {
      body: JSON.stringify(message),
      headers: { ...accept, ...extra },
      ...(signal && { signal }),
    });
  }

  async function hear(body: ReadableStream<Uint8Array>): Promise<void> {
    for await (const message of readEvents(body)) receive(message);
  }

  return {
    mirrorsParams: !isLegacy,
    cancelsByMessage: isLegacy,
    async request(message, extra, signal) {
      const response = await post(message, extra, signal);
      const answer = await readAnswer(message, response, receive);
      if (message.method === 'initialize') session = sessionHeaders(response, answer);
      return answer;
    },
    async send(message) {
      await (await post(message, {})).body?.cancel();
    },
    async listen() {
      if (session['Mcp-Session-Id'] === undefined) return;
      try {
        const { body } = await exchange('GET', { headers: { Accept: 'text/event-stream' } });
        // Its end, whoever ends it, is silence, as for any client.
        standalone = hear(body!).catch(() => undefined);
      } catch (error) {
        // transports, "Listening for Messages from the Server": a server need not offer this stream.
        if (statusOf(error) !== 405) throw error;
      }
    },
    async close() {
      // A server may refuse to end a session, or be gone: it ends by itself then.
      if (session['Mcp-Session-Id'] !== undefined && !closed.signal.aborted)
        await exchange('DELETE', { headers: {}, signal: AbortSignal.timeout(1_000) }).catch(() => undefined);
      closed.abort(new Error('The client was closed'));
      await standalone;
    },
  };
}

/** The response to `message`, plain or at the end of a stream; what comes before it is received. */
async function readAnswer(message: JsonRpcRequest, response: Response, receive: Receive): Promise<JsonRpcResponse> {
  if (!isEventStream(response)) return (await response.json()) as JsonRpcResponse;
  for await (const event of readEvents(response.body!)) {
    if (isResponseTo(message.id, event)) return event;
    receive(event);
  }
  throw new Error(`The stream ended without the answer to ${message.method}`);
}

/** What every later request of a legacy client carries. */
function sessionHeaders({ headers }: Response, answer: JsonRpcResponse): Record<string, string> {
  const id = headers.get('mcp-session-id');
  return {
    ...(id === null ? undefined : { 'Mcp-Session-Id': id }),
    ...('result' in answer ? { 'MCP-Protocol-Version': String(answer.result.protocolVersion) } : undefined),
  };
}

function isEventStream({ headers }: Response): boolean {
  return headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() === 'text/event-stream';
}

function isResponseTo(id: RequestId, message: JsonRpcMessage): message is JsonRpcResponse {
  return !('method' in message) && message.id === id;
}

async function toError(response: Response): Promise<Error> {
  const body = await response.text();
  const status = new HttpStatusError(response.status, Object.fromEntries(response.headers), body);
  const error = errorIn(body);
  return error === undefined ? status : new McpError(error.code, error.message, error.data, { cause: status });
}

/** The JSON-RPC error of a body, if it is one. */
function errorIn(body: string): JsonRpcErrorResponse['error'] | undefined {
  try {
    const parsed: unknown = JSON.parse(body);
    return isObject(parsed) && isObject(parsed.error) && typeof parsed.error.code === 'number'
      ? (parsed.error as unknown as JsonRpcErrorResponse['error'])
      : undefined;
  } catch {
    // A proxy's page, a host's own error: shown as it is.
    return undefined;
  }
}

/** The HTTP status behind an error of this channel. */
export function statusOf(error: unknown): number | undefined {
  const status = error instanceof McpError ? error.cause : error;
  return status instanceof HttpStatusError ? status.status : undefined;
}
