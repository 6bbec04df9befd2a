/**
 * How a client and the server get to know each other: `initialize` and `ping` (legacy), `server/discover` (modern).
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/discover
 */
import type { CallContext } from '../call-context';
import { keep } from '../core';
import type { ServerCore } from '../core';
import { ErrorCode, McpError } from '../protocol/errors';
import { parseInitializeParams, parseNoParams } from '../protocol/params';
import { modernVersions, negotiateRevision } from '../protocol/revisions';
import type { Revision } from '../protocol/revisions';
import type { ServerCapabilities } from '../protocol/types';
import { cacheHints } from './lists';
import { method } from './method';

/** What works, for a client of this revision on this transport. */
function capabilitiesFor(
  { registry: { declared }, extensions, experimental }: ServerCore,
  revision: Revision,
  hearsServer: boolean,
): ServerCapabilities {
  const listChanged = hearsServer ? { listChanged: true } : {};
  const all: ServerCapabilities = {
    logging: {},
    ...(declared.has('tools') ? { tools: listChanged } : undefined),
    ...(declared.has('resources') ? { resources: hearsServer ? { subscribe: true, ...listChanged } : {} } : undefined),
    ...(declared.has('prompts') ? { prompts: listChanged } : undefined),
    ...(declared.has('completions') ? { completions: {} } : undefined),
    ...(experimental === undefined ? undefined : { experimental }),
    ...(extensions === undefined ? undefined : { extensions }),
  };
  return Object.fromEntries(Object.entries(all).filter(([name]) => revision.serverCapabilities.has(name)));
}

function implementationFor({ info }: ServerCore, { implementationFields }: Revision): object {
  return Object.fromEntries(
    Object.entries(info).filter(([field, value]) => implementationFields.has(field) && value !== undefined),
  );
}

/** What a client says of itself may be this long, in characters of JSON: its session keeps it. */
const maxIntroductionLength = 65_536;

/** Shared by all sessions that have not subscribed to anything. */
const none: readonly string[] = Object.freeze([]);

type InitializeParams = ReturnType<typeof parseInitializeParams>;

async function initialize(core: ServerCore, params: InitializeParams, context: CallContext): Promise<object> {
  const { caller } = context;
  // 2025-11-25, lifecycle: initialization is the first interaction, and happens once.
  if (caller.session !== undefined) throw new McpError(ErrorCode.InvalidRequest, 'This session is initialized already');
  const { clientInfo, capabilities } = params;
  if (JSON.stringify([clientInfo, capabilities]).length > maxIntroductionLength)
    throw new McpError(
      ErrorCode.InvalidParams,
      `Invalid params: clientInfo and capabilities may have ${maxIntroductionLength} characters together`,
    );
  const revision = negotiateRevision(params.protocolVersion);
  await caller.openSession({
    revision: revision.version,
    clientInfo,
    capabilities,
    initialized: false,
    logLevel: undefined,
    subscriptions: none,
  });
  const key = `initialize ${revision.version} ${caller.hearsServer}`;
  return core.kept.get(key) ?? keep(core, key, introduction(core, revision, caller.hearsServer));
}

function introduction(core: ServerCore, revision: Revision, hearsServer: boolean): object {
  return {
    protocolVersion: revision.version,
    capabilities: capabilitiesFor(core, revision, hearsServer),
    serverInfo: implementationFor(core, revision),
    ...(core.instructions === undefined ? undefined : { instructions: core.instructions }),
  };
}

function discover(core: ServerCore, _params: object, context: CallContext): object {
  const { caller, requestMeta } = context;
  return {
    supportedVersions: modernVersions,
    // Over HTTP any modern client can listen: it needs no session.
    capabilities: capabilitiesFor(core, requestMeta.revision, caller.transport === 'http' || caller.hearsServer),
    ...(core.instructions === undefined ? undefined : { instructions: core.instructions }),
    ...cacheHints(core, 'discover', context),
  };
}

export const lifecycleMethods = {
  initialize: method('core', 'any', parseInitializeParams, initialize),
  ping: method('core', 'any', parseNoParams, () => ({})),
  'server/discover': method('core', 'any', parseNoParams, discover),
};
