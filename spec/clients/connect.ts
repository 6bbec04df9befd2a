/** The clients that people use, behind one face: the official SDK 1.x, and its successor in both eras. */
import { Client as Sdk1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Sdk1Transport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { Client as Client2, StreamableHTTPClientTransport as Client2Transport } from '@modelcontextprotocol/client';
import type { SubscriptionFilter, VersionNegotiationMode } from '@modelcontextprotocol/client';
import type { Target } from '../support/wire';

export const kinds = ['sdk 1.x', 'client 2.x, legacy', 'client 2.x, modern'] as const;
export type Kind = (typeof kinds)[number];

/** What the user, the model and the host answer; what is left out is not declared either. */
export interface Answers {
  elicit?(params: { message: string }): ElicitAnswer | Promise<ElicitAnswer>;
  sample?(params: { messages: { content: unknown }[] }): string;
  roots?(): string[];
}

/** What a user answers. */
export type ElicitAnswer =
  | { action: 'accept'; content: Record<string, string | number | boolean | string[]> }
  | { action: 'decline' | 'cancel' };

interface Progress {
  progress: number;
  total?: number;
  message?: string;
}

export interface CallOptions {
  onprogress?(progress: Progress): void;
  signal?: AbortSignal;
  /** The lowest level of log messages to send. */
  logLevel?: 'debug' | 'info' | 'warning' | 'error';
}

export interface ToolResult {
  content: { type: string; text?: string }[];
  structuredContent?: unknown;
  isError?: boolean;
}

interface Notification {
  method: string;
  params?: Record<string, unknown>;
}

/** What all of them can do. */
interface Common {
  listTools(): Promise<{ tools: { name: string; title?: string; outputSchema?: object }[] }>;
  listResources(): Promise<{ resources: { uri: string; name: string }[] }>;
  listResourceTemplates(): Promise<{ resourceTemplates: { uriTemplate: string }[] }>;
  listPrompts(): Promise<{ prompts: { name: string }[] }>;
  readResource(params: { uri: string }): Promise<{ contents: { uri: string }[] }>;
  getPrompt(params: {
    name: string;
    arguments?: Record<string, string>;
  }): Promise<{ messages: { content: unknown }[] }>;
  complete(params: {
    ref: { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string };
    argument: { name: string; value: string };
  }): Promise<{ completion: { values: string[] } }>;
  getServerVersion(): { name: string; version: string } | undefined;
  getInstructions(): string | undefined;
  close(): Promise<void>;
}

export interface RealClient extends Common {
  kind: Kind;
  era: 'legacy' | 'modern';
  /** The protocol revision agreed on. */
  revision: string | undefined;
  /** Legacy only. */
  sessionId: string | undefined;
  callTool(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<ToolResult>;
  /** Ask to be told of changes, in the way of the era. */
  hear(filter: SubscriptionFilter): Promise<void>;
  /** The next notification of that method that has not been taken. */
  notification(method: string): Promise<Notification>;
  /** End the session. */
  terminate(): Promise<void>;
}

const info = { name: 'spec', version: '1.0.0' };
const clients: { close(): Promise<void> }[] = [];

/** Close what {@link connect} opened. */
export async function closeClients(): Promise<void> {
  await Promise.all(clients.splice(0).map((client) => client.close()));
}

/** Connect one of them. */
export async function connect(kind: Kind, target: Target, answers: Answers = {}): Promise<RealClient> {
  const client = await (kind === 'sdk 1.x' ? connectSdk1(target, answers) : connectClient2(kind, target, answers));
  clients.push(client);
  return client;
}

function capabilitiesOf({ elicit, sample, roots }: Answers) {
  return { ...(elicit && { elicitation: {} }), ...(sample && { sampling: {} }), ...(roots && { roots: {} }) };
}

function sampled(text: string) {
  return { role: 'assistant' as const, model: 'spec', content: { type: 'text' as const, text } };
}

/** A client's own methods, bound, with what is special laid over them. */
function faceOf(client: Common, over: Omit<RealClient, keyof Common>): RealClient {
  return {
    listTools: () => client.listTools(),
    listResources: () => client.listResources(),
    listResourceTemplates: () => client.listResourceTemplates(),
    listPrompts: () => client.listPrompts(),
    readResource: (params) => client.readResource(params),
    getPrompt: (params) => client.getPrompt(params),
    complete: (params) => client.complete(params),
    getServerVersion: () => client.getServerVersion(),
    getInstructions: () => client.getInstructions(),
    close: () => client.close(),
    ...over,
  };
}

async function connectSdk1({ url }: Target, answers: Answers): Promise<RealClient> {
  const client = new Sdk1(info, { capabilities: capabilitiesOf(answers) });
  const { elicit, sample, roots } = answers;
  if (elicit) client.setRequestHandler(ElicitRequestSchema, ({ params }) => elicit(params));
  if (sample) client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => sampled(sample(params as never)));
  if (roots) client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: roots().map((uri) => ({ uri })) }));
  const heard = new Heard();
  client.fallbackNotificationHandler = async (notification) => heard.add(notification as Notification);
  const transport = new Sdk1Transport(new URL(url));
  await client.connect(transport);
  return faceOf(client, {
    kind: 'sdk 1.x',
    era: 'legacy',
    revision: transport.protocolVersion,
    sessionId: transport.sessionId,
    async callTool(name, args, { logLevel, ...options } = {}) {
      if (logLevel !== undefined) await client.setLoggingLevel(logLevel);
      return (await client.callTool({ name, arguments: args }, CallToolResultSchema, options)) as ToolResult;
    },
    async hear({ resourceSubscriptions = [] }) {
      for (const uri of resourceSubscriptions) await client.subscribeResource({ uri });
    },
    notification: (method) => heard.next(method),
    terminate: () => transport.terminateSession(),
  });
}

async function connectClient2(kind: Kind, { url }: Target, answers: Answers): Promise<RealClient> {
  const mode: VersionNegotiationMode = kind === 'client 2.x, modern' ? 'auto' : 'legacy';
  const client = new Client2(info, { capabilities: capabilitiesOf(answers), versionNegotiation: { mode } });
  const { elicit, sample, roots } = answers;
  if (elicit) client.setRequestHandler('elicitation/create', ({ params }) => elicit(params));
  if (sample) client.setRequestHandler('sampling/createMessage', ({ params }) => sampled(sample(params as never)));
  if (roots) client.setRequestHandler('roots/list', () => ({ roots: roots().map((uri) => ({ uri })) }));
  const heard = new Heard();
  client.fallbackNotificationHandler = async (notification) => heard.add(notification as Notification);
  const transport = new Client2Transport(new URL(url));
  await client.connect(transport);
  const era = client.getProtocolEra()!;
  return faceOf(client as Common, {
    kind,
    era,
    revision: client.getNegotiatedProtocolVersion(),
    sessionId: transport.sessionId,
    async callTool(name, args, { logLevel, ...options } = {}) {
      const _meta = logLevel === undefined ? undefined : { 'io.modelcontextprotocol/logLevel': logLevel };
      if (logLevel !== undefined && era === 'legacy') await client.setLoggingLevel(logLevel);
      const params = { name, arguments: args, ...(era === 'modern' && _meta ? { _meta } : {}) };
      return (await client.callTool(params, options)) as ToolResult;
    },
    async hear(filter) {
      if (era === 'modern') await client.listen(filter);
      else for (const uri of filter.resourceSubscriptions ?? []) await client.subscribeResource({ uri });
    },
    notification: (method) => heard.next(method),
    terminate: () => transport.terminateSession(),
  });
}

/** Notifications as they came, until they are taken. */
class Heard {
  readonly #untaken: Notification[] = [];
  #wake = (): void => undefined;

  add(notification: Notification): void {
    this.#untaken.push(notification);
    this.#wake();
  }

  async next(method: string): Promise<Notification> {
    for (;;) {
      const index = this.#untaken.findIndex((notification) => notification.method === method);
      if (index >= 0) return this.#untaken.splice(index, 1)[0]!;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
