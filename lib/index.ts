/** The public names. */
export { allow, allowAll, deny, elicit } from './authorizer/decisions';
export type {
  ApprovalPrompt,
  Authorizer,
  Decision,
  ReadAuthorizer,
  ReadQuestion,
  ToolQuestion,
} from './authorizer/decisions';
export type { Connection } from './connections';
export type { RequestObserver } from './core';
export type { Context, ElicitAnswer, ElicitQuestion, Transport } from './context';
export type {
  CacheHints,
  Completer,
  Handle,
  ListedResource,
  PromptConfig,
  PromptHandler,
  ProvidedTool,
  ResourceConfig,
  ResourceHandler,
  ToolConfig,
  ToolDefinition,
  ToolHandler,
  ToolProvider,
} from './declarations';
export { bearerAuth } from './http/bearer-auth';
export type { BearerAuthOptions, TokenVerifier, VerifiedToken } from './http/bearer-auth';
export type { HttpError } from './http/http-error';
export type { MountStats } from './http/mount';
export type { Logger, McpRouterOptions, Posture, SessionEnd } from './http/options';
export { validateOrigin } from './http/origin';
export type { OriginOptions } from './http/origin';
export { protectedResourceMetadata } from './http/protected-resource-metadata';
export type { ProtectedResourceMetadataOptions } from './http/protected-resource-metadata';
export type { AuthInfo } from './protocol/auth-info';
export { ErrorCode, InvalidTokenError, McpError, ToolError } from './protocol/errors';
export type { Schema } from './protocol/schema';
export type { StandardSchema } from './protocol/standard-schema';
export type {
  Annotations,
  AudioContent,
  BlobResourceContents,
  CallToolResult,
  ClientCapabilities,
  Completion,
  ContentBlock,
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitRequestFormParams,
  ElicitRequestParams,
  ElicitRequestUrlParams,
  ElicitResult,
  EmbeddedResource,
  Era,
  GetPromptResult,
  Icon,
  ImageContent,
  Implementation,
  InputRequest,
  InputRequiredResult,
  InputResponse,
  JsonRpcError,
  JsonRpcErrorResponse,
  JsonRpcMessage,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
  JsonRpcResultResponse,
  JsonSchema,
  ListRootsResult,
  LoggingLevel,
  Meta,
  PrimitiveSchema,
  ProgressToken,
  Prompt,
  PromptArgument,
  PromptMessage,
  ReadResourceResult,
  RequestId,
  Resource,
  ResourceContents,
  ResourceLink,
  ResourceTemplate,
  Role,
  Root,
  SamplingContent,
  SamplingMessage,
  ServerCapabilities,
  SubscriptionFilter,
  TextContent,
  TextResourceContents,
  Tool,
  ToolAnnotations,
  ToolResultContent,
  ToolUseContent,
} from './protocol/types';
export { mcpRouter } from './router';
export type { McpRouter } from './router';
export { McpServer } from './server';
export type { McpServerOptions, ServerInfo } from './create-core';
export { MemorySessionStore } from './sessions/memory-session-store';
export type { SessionEndReason } from './sessions/session';
export type { SessionRecord, SessionStore } from './sessions/session-store';
