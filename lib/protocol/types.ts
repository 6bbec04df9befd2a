/**
 * The specification's types, under its names. One shape serves every revision: what an older revision lacks is optional
 * here, and left out where it is sent (`revisions.ts`).
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/schema
 */

/** Correlates a response with its request: a string or a safe integer, never null. */
export type RequestId = string | number;

/** Names the request that progress notifications belong to; chosen by the client. */
export type ProgressToken = string | number;

/** Free metadata; keys carry a prefix, `io.modelcontextprotocol/` is reserved. */
export type Meta = Record<string, unknown>;

/** A call that wants an answer. */
export interface JsonRpcRequest {
  jsonrpc: '2.0';
  id: RequestId;
  method: string;
  params?: Record<string, unknown>;
}

/** A message that wants none. */
export interface JsonRpcNotification {
  jsonrpc: '2.0';
  method: string;
  params?: Record<string, unknown>;
}

/** What went wrong, as the other side reads it. */
export interface JsonRpcError {
  code: number;
  message: string;
  data?: unknown;
}

/** The answer to a request that could be carried out. */
export interface JsonRpcResultResponse {
  jsonrpc: '2.0';
  id: RequestId;
  result: Record<string, unknown>;
}

/** The answer to a request that could not; without `id` where it could not be read. */
export interface JsonRpcErrorResponse {
  jsonrpc: '2.0';
  id?: RequestId;
  error: JsonRpcError;
}

/** Either answer. */
export type JsonRpcResponse = JsonRpcResultResponse | JsonRpcErrorResponse;

/** Any single message. */
export type JsonRpcMessage = JsonRpcRequest | JsonRpcNotification | JsonRpcResponse;

/** How two sides talk: `legacy` opens a session with `initialize`, `modern` carries all it needs in each request. */
export type Era = 'legacy' | 'modern';

/** Names a client or a server. */
export interface Implementation {
  name: string;
  version: string;
  title?: string;
  description?: string;
  websiteUrl?: string;
  icons?: Icon[];
}

/** A picture for a user interface. */
export interface Icon {
  /** `https:` or `data:` URI. */
  src: string;
  mimeType?: string;
  /** For example `48x48`, or `any`. */
  sizes?: string[];
  theme?: 'light' | 'dark';
}

/** What a client can do, as it declares it. */
export interface ClientCapabilities {
  experimental?: Record<string, unknown>;
  roots?: { listChanged?: boolean };
  sampling?: { context?: object; tools?: object };
  /** An empty object means form mode. */
  elicitation?: { form?: object; url?: object };
  extensions?: Record<string, unknown>;
}

/** What this server can do; advertised exactly when it works. */
export interface ServerCapabilities {
  experimental?: Record<string, unknown>;
  logging?: object;
  completions?: object;
  prompts?: { listChanged?: boolean };
  resources?: { subscribe?: boolean; listChanged?: boolean };
  tools?: { listChanged?: boolean };
  extensions?: Record<string, unknown>;
}

/** Who speaks, or is spoken to. */
export type Role = 'user' | 'assistant';

/** Hints about a piece of content. */
export interface Annotations {
  audience?: Role[];
  /** 0 (least) to 1 (most). */
  priority?: number;
  /** ISO 8601. */
  lastModified?: string;
}

/** Text. */
export interface TextContent {
  type: 'text';
  text: string;
  annotations?: Annotations;
  _meta?: Meta;
}

/** A picture. */
export interface ImageContent {
  type: 'image';
  /** Base64. */
  data: string;
  mimeType: string;
  annotations?: Annotations;
  _meta?: Meta;
}

/** A sound; sent as text to clients older than 2025-03-26. */
export interface AudioContent {
  type: 'audio';
  /** Base64. */
  data: string;
  mimeType: string;
  annotations?: Annotations;
  _meta?: Meta;
}

/** Names a resource that the client may read; sent as text to clients older than 2025-06-18. */
export interface ResourceLink extends Resource {
  type: 'resource_link';
}

/** A resource with its contents. */
export interface EmbeddedResource {
  type: 'resource';
  resource: ResourceContents;
  annotations?: Annotations;
  _meta?: Meta;
}

/** One piece of a tool's result or of a prompt's message. */
export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource;

/** A JSON Schema (2020-12 unless `$schema` says otherwise). */
export type JsonSchema = { $schema?: string; [keyword: string]: unknown };

/** Untrusted hints about what a tool does. */
export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

/** A tool as `tools/list` shows it. */
export interface Tool {
  name: string;
  title?: string;
  description?: string;
  inputSchema: JsonSchema & { type: 'object' };
  outputSchema?: JsonSchema;
  annotations?: ToolAnnotations;
  icons?: Icon[];
  _meta?: Meta;
}

/** What a tool answers. `structuredContent` is any JSON value; clients of a legacy revision get objects only. */
export interface CallToolResult {
  content: ContentBlock[];
  structuredContent?: unknown;
  /** The tool failed, and `content` says how, for the model to read. */
  isError?: boolean;
  _meta?: Meta;
  [field: string]: unknown;
}

/** A resource as `resources/list` shows it. */
export interface Resource {
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  /** Bytes, before Base64. */
  size?: number;
  annotations?: Annotations;
  icons?: Icon[];
  _meta?: Meta;
}

/** A family of resources as `resources/templates/list` shows it. */
export interface ResourceTemplate {
  /** RFC 6570. */
  uriTemplate: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  annotations?: Annotations;
  icons?: Icon[];
  _meta?: Meta;
}

/** The contents of a resource that is text. */
export interface TextResourceContents {
  uri: string;
  text: string;
  mimeType?: string;
  _meta?: Meta;
}

/** The contents of a resource that is bytes. */
export interface BlobResourceContents {
  uri: string;
  /** Base64. */
  blob: string;
  mimeType?: string;
  _meta?: Meta;
}

/** The contents of one resource. */
export type ResourceContents = TextResourceContents | BlobResourceContents;

/** What `resources/read` answers. */
export interface ReadResourceResult {
  contents: ResourceContents[];
  _meta?: Meta;
  [field: string]: unknown;
}

/** An argument of a prompt, as a list shows it. */
export interface PromptArgument {
  name: string;
  title?: string;
  description?: string;
  required?: boolean;
}

/** A prompt as `prompts/list` shows it. */
export interface Prompt {
  name: string;
  title?: string;
  description?: string;
  arguments?: PromptArgument[];
  icons?: Icon[];
  _meta?: Meta;
}

/** One message of a prompt. */
export interface PromptMessage {
  role: Role;
  content: ContentBlock;
}

/** What `prompts/get` answers. */
export interface GetPromptResult {
  description?: string;
  messages: PromptMessage[];
  _meta?: Meta;
  [field: string]: unknown;
}

/** What `completion/complete` answers; at most 100 values. */
export interface Completion {
  values: string[];
  total?: number;
  hasMore?: boolean;
}

/** Severities of RFC 5424, least first. */
export const loggingLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;

/** How severe a log message is. */
export type LoggingLevel = (typeof loggingLevels)[number];

/** A flat form field: what an elicitation may ask for. */
export type PrimitiveSchema = JsonSchema;

/** Asks the user to fill in a form. */
export interface ElicitRequestFormParams {
  mode?: 'form';
  message: string;
  requestedSchema: {
    $schema?: string;
    type: 'object';
    properties: Record<string, PrimitiveSchema>;
    required?: string[];
  };
}

/** Asks the user to open a page. */
export interface ElicitRequestUrlParams {
  mode: 'url';
  message: string;
  url: string;
  /** 2025-11-25 only. */
  elicitationId?: string;
}

/** What the user is asked. */
export type ElicitRequestParams = ElicitRequestFormParams | ElicitRequestUrlParams;

/** How the user answered. */
export interface ElicitResult {
  action: 'accept' | 'decline' | 'cancel';
  content?: Record<string, string | number | boolean | string[]>;
  _meta?: Meta;
}

/** One message of a conversation with the client's model. */
export interface SamplingMessage {
  role: Role;
  content: SamplingContent | SamplingContent[];
  _meta?: Meta;
}

/** The model wants to use a tool. */
export interface ToolUseContent {
  type: 'tool_use';
  id: string;
  name: string;
  input: Record<string, unknown>;
  _meta?: Meta;
}

/** What the tool gave the model. */
export interface ToolResultContent {
  type: 'tool_result';
  toolUseId: string;
  content: ContentBlock[];
  structuredContent?: unknown;
  isError?: boolean;
  _meta?: Meta;
}

/** One piece of a sampling message. */
export type SamplingContent = TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent;

/** Asks the client's model. */
export interface CreateMessageRequestParams {
  messages: SamplingMessage[];
  maxTokens: number;
  modelPreferences?: {
    hints?: { name?: string }[];
    costPriority?: number;
    speedPriority?: number;
    intelligencePriority?: number;
  };
  systemPrompt?: string;
  includeContext?: 'none' | 'thisServer' | 'allServers';
  temperature?: number;
  stopSequences?: string[];
  metadata?: Record<string, unknown>;
  tools?: Tool[];
  toolChoice?: { mode?: 'auto' | 'required' | 'none' };
}

/** What the client's model said. */
export interface CreateMessageResult extends SamplingMessage {
  model: string;
  stopReason?: string;
}

/** A place the client works in, for example a project's folder. */
export interface Root {
  uri: string;
  name?: string;
  _meta?: Meta;
}

/** The client's roots. */
export interface ListRootsResult {
  roots: Root[];
  _meta?: Meta;
}

/** A question of the server, as it travels: its own request (legacy) or an entry of `inputRequests` (modern). */
export type InputRequest =
  | { method: 'elicitation/create'; params: ElicitRequestParams }
  | { method: 'sampling/createMessage'; params: CreateMessageRequestParams }
  | { method: 'roots/list'; params?: { _meta?: Meta } };

/** The answer to an {@link InputRequest}. */
export type InputResponse = ElicitResult | CreateMessageResult | ListRootsResult;

/** "Ask these, then send the same request again" (modern). */
export interface InputRequiredResult {
  resultType: 'input_required';
  inputRequests?: Record<string, InputRequest>;
  requestState?: string;
  _meta?: Meta;
}

/** What a listen stream carries. */
export interface SubscriptionFilter {
  toolsListChanged?: boolean;
  promptsListChanged?: boolean;
  resourcesListChanged?: boolean;
  resourceSubscriptions?: string[];
}
