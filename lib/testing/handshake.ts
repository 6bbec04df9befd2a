/** How a client and a server get to know each other, in both eras. */
import { serverInfoKey } from '../protocol/params';
import type { ClientCapabilities, Implementation, LoggingLevel, ServerCapabilities } from '../protocol/types';
import type { Conversation } from './conversation';
import type { ServerDescription } from './test-client';

/** What a client says of itself. */
export interface Greeting {
  readonly revision: string;
  readonly capabilities: ClientCapabilities;
  readonly clientInfo: Implementation;
  readonly logLevel: LoggingLevel | undefined;
}

const prefix = 'io.modelcontextprotocol/';

/**
 * What every modern request carries.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic#meta
 */
export function modernMeta({ revision, capabilities, clientInfo, logLevel }: Greeting): Record<string, unknown> {
  return {
    [`${prefix}protocolVersion`]: revision,
    [`${prefix}clientInfo`]: clientInfo,
    [`${prefix}clientCapabilities`]: capabilities,
    ...(logLevel === undefined ? undefined : { [`${prefix}logLevel`]: logLevel }),
  };
}

/** Modern: ask who the server is. Rejects if it does not speak the revision. */
export async function discover(conversation: Conversation, { revision }: Greeting): Promise<ServerDescription> {
  const { supportedVersions, capabilities, instructions, _meta } = await conversation.request('server/discover', {});
  if (!(supportedVersions as string[]).includes(revision))
    throw new Error(`The server does not speak ${revision}, but ${(supportedVersions as string[]).join(', ')}`);
  return describe((_meta as Record<string, unknown> | undefined)?.[serverInfoKey], capabilities, instructions);
}

/** Legacy: open a session. Rejects if the server offers another revision. */
export async function initialize(
  conversation: Conversation,
  { revision, capabilities, clientInfo, logLevel }: Greeting,
): Promise<ServerDescription> {
  const params = { protocolVersion: revision, capabilities, clientInfo };
  const result = await conversation.request('initialize', params);
  if (result.protocolVersion !== revision)
    throw new Error(`The server does not speak ${revision}: it offers ${String(result.protocolVersion)}`);
  await conversation.notify('notifications/initialized');
  await conversation.hear();
  if (logLevel !== undefined) await conversation.request('logging/setLevel', { level: logLevel });
  return describe(result.serverInfo, result.capabilities, result.instructions);
}

function describe(info: unknown, capabilities: unknown, instructions: unknown): ServerDescription {
  return {
    info: info as Implementation | undefined,
    capabilities: (capabilities ?? {}) as ServerCapabilities,
    instructions: instructions as string | undefined,
  };
}
