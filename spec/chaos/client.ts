/** One of many: the official client of the older revisions, which calls, answers and resumes until it is told to stop. */
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport, StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema, LoggingMessageNotificationSchema, McpError } from '@modelcontextprotocol/sdk/types.js';
import { chaosLimits } from './limits';
import type { Random } from './random';
import type { Call, Tally } from './tally';

const tools = ['echo', 'echo', 'work', 'work', 'ask', 'pay', 'pay'] as const;

/** The client's own code for a call that it has given up. */
const requestTimeout = -32001;

/** An event's id without its position. */
function streamOf(eventId: string): string {
  return eventId.slice(0, eventId.lastIndexOf('.'));
}

export class ChaosClient {
  readonly #url: URL;
  readonly #name: string;
  readonly #random: Random;
  readonly #tally: Tally;
  /** What servers have said on the session's own stream. */
  readonly heard = new Set<unknown>();
  /** The session's own stream has been opened. */
  listening = false;
  #reconnection = { maxRetries: 0 };
  /** Streams whose calls are over, by what their event ids begin with. */
  readonly #over = new Set<string>();
  /** Calls whose answers broke off after their heads. */
  readonly #cut = new Set<string>();
  #client: Client | undefined;
  #transport: StreamableHTTPClientTransport | undefined;
  #calls = 0;
  #stopped = false;

  constructor(url: string, name: string, random: Random, tally: Tally) {
    this.#url = new URL(url);
    this.#name = name;
    this.#random = random;
    this.#tally = tally;
  }

  get sessionId(): string | undefined {
    return this.#transport?.sessionId;
  }

  /** Open a session, and one more after an end: what 404 asks of clients. */
  async connect(): Promise<void> {
    await this.close();
    const reconnectionOptions = {
      initialReconnectionDelay: chaosLimits.retryMs,
      maxReconnectionDelay: chaosLimits.retryMs,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 1_000,
    };
    this.#reconnection = reconnectionOptions;
    const client = new Client({ name: this.#name, version: '1.0.0' }, { capabilities: { elicitation: {} } });
    const transport = new StreamableHTTPClientTransport(this.#url, {
      fetch: (url, init) => this.#fetch(url, init),
      reconnectionOptions,
    });
    client.onerror = (error) => {
      // A second answer, or events after the last.
      if (/unknown (message ID|token)/.test(error.message)) this.#tally.fault(`${this.#name}: ${error.message}`);
    };
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => this.#answer(params.message));
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params: { data } }) => {
      if (this.heard.has(data)) this.#tally.fault(`${this.#name} heard ${JSON.stringify(data)} twice`);
      this.heard.add(data);
    });
    await client.connect(transport);
    this.#client = client;
    this.#transport = transport;
  }

  async #fetch(url: string | URL, init?: RequestInit): Promise<Response> {
    const lastEventId = new Headers(init?.headers).get('last-event-id');
    // This client takes an error for no answer, and would come back for one for ever.
    if (lastEventId !== null && this.#over.has(streamOf(lastEventId))) return new Response(null, { status: 405 });
    const response = await fetch(url, init);
    if (lastEventId !== null) this.#tally.countResumed(response.status);
    else if (init?.method === 'GET' && response.ok) this.listening = true;
    const nonce = typeof init?.body === 'string' ? /"nonce":"([^"]+)"/.exec(init.body)?.[1] : undefined;
    if (
      nonce === undefined ||
      response.body === null ||
      !response.headers.get('content-type')?.includes('event-stream')
    )
      return response;
    return new Response(ReadableStream.from(this.#watched(response.body, nonce)), response);
  }

  /** A stream that breaks before its first event can be resumed by nobody, and this client says nothing of it. */
  async *#watched(body: AsyncIterable<Uint8Array>, nonce: string): AsyncGenerator<Uint8Array> {
    let begun = false;
    try {
      for await (const chunk of body) {
        begun = true;
        yield chunk;
      }
    } finally {
      if (!begun) this.#cut.add(nonce);
    }
  }

  async #answer(message: string) {
    const nonce = /\S+(?=\?)/.exec(message)?.[0] ?? '';
    const call = this.#tally.calls.get(nonce);
    if (call === undefined) this.#tally.fault(`${this.#name} was asked "${message}"`);
    await delay(this.#random.between(0, 150));
    const approve = this.#random.chance(0.8);
    call?.said.push(approve);
    if (!approve && this.#random.chance(0.5)) return { action: 'decline' as const };
    return { action: 'accept' as const, content: call?.tool === 'pay' ? { approve } : { colour: 'blue' } };
  }

  /** Call one thing after the other until {@link ChaosClient.stop}. */
  async live(): Promise<void> {
    while (!this.#stopped) {
      await this.call(this.#random.pick(tools));
      await delay(this.#random.between(50, 700));
    }
  }

  stop(): void {
    this.#stopped = true;
  }

  async call(tool: string): Promise<Call> {
    const call = this.#tally.begin(tool, `${this.#name}-${(this.#calls += 1)}`);
    const { nonce } = call;
    let stream = '';
    const options = {
      timeout: chaosLimits.callTimeoutMs,
      onprogress: () => undefined,
      onresumptiontoken: (eventId: string) => (stream = streamOf(eventId)),
    };
    try {
      const result = await this.#client!.callTool({ name: tool, arguments: { nonce } }, undefined, options);
      const text = (result.content as { text: string }[])[0]?.text;
      if (result.isError === true) Object.assign(call, { outcome: 'refused', why: text });
      else if (text !== nonce && text !== 'declined') this.#tally.fault(`${nonce} was answered with "${text}"`);
      else call.outcome = 'answered';
    } catch (error) {
      this.#failed(call, error);
    }
    this.#over.add(stream);
    return call;
  }

  #failed(call: Call, error: unknown): void {
    if (error instanceof McpError && error.code === requestTimeout && this.#cut.has(call.nonce))
      Object.assign(call, { outcome: 'cut', why: 'terminated' });
    else if (error instanceof McpError) {
      if (error.code === requestTimeout) this.#tally.fault(`${call.tool} ${call.nonce} was never answered`);
      Object.assign(call, { outcome: 'failed', why: error.message });
    } else if (error instanceof StreamableHTTPError) Object.assign(call, { outcome: 'failed', why: `${error.code}` });
    // What `fetch` says when the connection breaks; its errors are not of this realm.
    else if ((error as Error).name === 'TypeError')
      Object.assign(call, { outcome: 'cut', why: (error as Error).message });
    else this.#tally.fault(`${call.nonce}: ${String(error)}`);
  }

  async close(): Promise<void> {
    // Closing calls off one of its reconnections, and there may be many.
    this.#reconnection.maxRetries = 0;
    await this.#client?.close();
  }
}
