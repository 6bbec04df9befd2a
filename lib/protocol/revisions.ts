/** What differs between the protocol's revisions, as data. No other file compares version strings. */
import { ErrorCode } from './errors';
import type { ContentBlock, Era } from './types';

/** Something a server may ask a client, by the name of its capability. */
export type ClientFeature = 'elicitation.form' | 'elicitation.url' | 'sampling' | 'sampling.tools' | 'roots';

/** One dated version of the protocol. */
export interface Revision {
  readonly version: string;
  readonly era: Era;
  /** Requests a client may send. */
  readonly methods: ReadonlySet<string>;
  /** Content kinds a client of this revision knows; others are sent as text. */
  readonly contentKinds: ReadonlySet<ContentBlock['type']>;
  /** What a server may ask a client, if the client has declared it. */
  readonly clientFeatures: ReadonlySet<ClientFeature>;
  /** What a form may hold: titled choices and defaults came later than elicitation itself. */
  readonly forms: 'none' | 'basic' | 'full';
  /** Fields of a prompt, its arguments, a resource and a template. */
  readonly fields: ReadonlySet<string>;
  readonly toolFields: ReadonlySet<string>;
  /** Fields of content blocks and of a resource's contents that came later. */
  readonly laterContentFields: ReadonlySet<string>;
  /** Fields of the server's own description. */
  readonly implementationFields: ReadonlySet<string>;
  /** Which `structuredContent` and `outputSchema` it knows. */
  readonly structuredContent: 'none' | 'objects' | 'any';
  /** Arrays of messages are served (2025-03-26 only). */
  readonly batches: boolean;
  /** A stream begins with an empty event, so that a client can resume before the first message. */
  readonly primingEvent: boolean;
  /** `message` in progress notifications. */
  readonly progressMessage: boolean;
  /** Capability names a server may advertise. */
  readonly serverCapabilities: ReadonlySet<string>;
  readonly resourceNotFound: ErrorCode;
  /** The codes of the specification that the revision has. */
  readonly errorCodes: ReadonlySet<ErrorCode>;
  /** An unknown tool is a result the model can read, not a protocol error (DESIGN: legacy, by wish). */
  readonly unknownToolIsResult: boolean;
  /** `notifications/elicitation/complete` and -32042 exist. */
  readonly urlElicitationCallbacks: boolean;
  /** HTTP status of -32601. */
  readonly methodNotFoundStatus: number;
}

const jsonRpcCodes = [
  ErrorCode.ParseError,
  ErrorCode.InvalidRequest,
  ErrorCode.MethodNotFound,
  ErrorCode.InvalidParams,
  ErrorCode.InternalError,
];

const legacyMethods = [
  'initialize',
  'ping',
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'logging/setLevel',
];

const r20241105: Revision = {
  version: '2024-11-05',
  era: 'legacy',
  methods: new Set(legacyMethods),
  contentKinds: new Set(['text', 'image', 'resource']),
  clientFeatures: new Set(['sampling', 'roots']),
  forms: 'none',
  fields: new Set([
    'name',
    'description',
    'arguments',
    'required',
    'uri',
    'uriTemplate',
    'mimeType',
    'size',
    'annotations',
  ]),
  toolFields: new Set(['name', 'description', 'inputSchema']),
  laterContentFields: new Set(['_meta', 'icons']),
  implementationFields: new Set(['name', 'version']),
  structuredContent: 'none',
  batches: false,
  primingEvent: false,
  progressMessage: false,
  serverCapabilities: new Set(['experimental', 'logging', 'prompts', 'resources', 'tools']),
  resourceNotFound: ErrorCode.ResourceNotFound,
  errorCodes: new Set([...jsonRpcCodes, ErrorCode.ResourceNotFound]),
  unknownToolIsResult: true,
  urlElicitationCallbacks: false,
  methodNotFoundStatus: 200,
};

const r20250326: Revision = {
  ...r20241105,
  version: '2025-03-26',
  contentKinds: new Set([...r20241105.contentKinds, 'audio']),
  toolFields: new Set([...r20241105.toolFields, 'annotations']),
  batches: true,
  progressMessage: true,
  serverCapabilities: new Set([...r20241105.serverCapabilities, 'completions']),
};

const r20250618: Revision = {
  ...r20250326,
  version: '2025-06-18',
  contentKinds: new Set([...r20250326.contentKinds, 'resource_link']),
  clientFeatures: new Set([...r20250326.clientFeatures, 'elicitation.form']),
  forms: 'basic',
  fields: new Set([...r20250326.fields, 'title', '_meta']),
  toolFields: new Set([...r20250326.toolFields, 'title', 'outputSchema', '_meta']),
  laterContentFields: new Set(['icons']),
  implementationFields: new Set([...r20250326.implementationFields, 'title']),
  structuredContent: 'objects',
  batches: false,
};

const r20251125: Revision = {
  ...r20250618,
  version: '2025-11-25',
  clientFeatures: new Set([...r20250618.clientFeatures, 'elicitation.url', 'sampling.tools']),
  forms: 'full',
  fields: new Set([...r20250618.fields, 'icons']),
  toolFields: new Set([...r20250618.toolFields, 'icons']),
  laterContentFields: new Set(),
  implementationFields: new Set([...r20250618.implementationFields, 'description', 'websiteUrl', 'icons']),
  primingEvent: true,
  urlElicitationCallbacks: true,
  errorCodes: new Set([...r20250618.errorCodes, ErrorCode.UrlElicitationRequired]),
};

const r20260728: Revision = {
  ...r20251125,
  version: '2026-07-28',
  era: 'modern',
  methods: new Set([
    'server/discover',
    'tools/list',
    'tools/call',
    'resources/list',
    'resources/templates/list',
    'resources/read',
    'prompts/list',
    'prompts/get',
    'completion/complete',
    'subscriptions/listen',
  ]),
  structuredContent: 'any',
  primingEvent: false,
  serverCapabilities: new Set([...r20251125.serverCapabilities, 'extensions']),
  resourceNotFound: ErrorCode.InvalidParams,
  errorCodes: new Set([
    ...jsonRpcCodes,
    ErrorCode.HeaderMismatch,
    ErrorCode.MissingRequiredClientCapability,
    ErrorCode.UnsupportedProtocolVersion,
  ]),
  unknownToolIsResult: false,
  urlElicitationCallbacks: false,
  methodNotFoundStatus: 404,
};

const revisions = new Map([r20241105, r20250326, r20250618, r20251125, r20260728].map((r) => [r.version, r]));

/** The revision of that date, if this server speaks it. */
export function findRevision(version: string | undefined): Revision | undefined {
  return version === undefined ? undefined : revisions.get(version);
}

/** Offered to a client whose `initialize` asks for anything but a legacy revision we speak. */
export const latestLegacyRevision = r20251125;

export const latestRevision = r20260728;

/**
 * The revision to answer an `initialize` with: the one asked for, else our latest legacy one.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#version-negotiation
 */
export function negotiateRevision(requested: string): Revision {
  const revision = findRevision(requested);
  return revision?.era === 'legacy' ? revision : latestLegacyRevision;
}

/** What `server/discover` and -32022 name. */
export const modernVersions: readonly string[] = [...revisions.values()]
  .filter(({ era }) => era === 'modern')
  .map(({ version }) => version);
