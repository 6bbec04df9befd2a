/** What one server is made of, as plain data: what is declared, its options, its hooks. `dispatch` and the methods work on it. */
import type { Authorizer, ReadAuthorizer } from './authorizer/decisions';
import type { Ask } from './call-context';
import type { Context } from './context';
import type { CacheHints } from './declarations';
import { EncodedResult } from './protocol/json-rpc';
import type { Registry } from './registry';
import type { JsonRpcNotification, Implementation } from './protocol/types';
import type { RequestStates, SpentNonces } from './request-state';

/** The lists and reads whose answers clients may keep. */
export type Cacheable = 'discover' | 'tools' | 'prompts' | 'resources' | 'resourceTemplates' | 'read';

/** Something the server says on its own, to every connection that wants it. */
export interface Notice {
  readonly message: JsonRpcNotification;
  /** Waiting notices of one key are one message (`list_changed` of a kind, `updated` of a uri). */
  readonly mergeKey?: string;
  /** The resource that changed: only for those who asked for it. */
  readonly uri?: string;
  /** Another process said it, to all that share a store. */
  readonly elsewhere?: boolean;
}

/**
 * Sees every request of the protocol: for tracing and metrics. `run` must call `next` once and hand on what comes of it,
 * the result or the rejection.
 */
export interface RequestObserver {
  run(context: Context, next: () => unknown): unknown;
}

/** Approvals that were used, remembered where other processes see them too. */
export interface SpentElsewhere {
  /** False when the approval must not be used. */
  spend(nonce: string, expiresAt: number): Promise<boolean>;
}

/** Answers kept encoded; beyond, all are forgotten and made anew. */
const maxKept = 256;

/** One server. */
export interface ServerCore {
  readonly info: Implementation;
  /** The `_meta` of every modern result. */
  readonly resultMeta: Readonly<Record<string, unknown>>;
  readonly instructions: string | undefined;
  readonly registry: Registry;
  readonly authorizer: Authorizer | undefined;
  readonly readAuthorizer: ReadAuthorizer | undefined;
  /** False for a framework's fallback: it runs, but counts as if nobody had decided. */
  readonly authorizerConfigured: boolean;
  readonly readAuthorizerConfigured: boolean;
  readonly observer: RequestObserver | undefined;
  readonly exposeErrors: boolean;
  readonly pageSize: number;
  readonly authorizerTimeoutMs: number;
  readonly elicitationTimeoutMs: number;
  readonly toolTimeoutMs: number | undefined;
  readonly cache: Readonly<Partial<Record<Cacheable, CacheHints>>>;
  readonly extensions: Readonly<Record<string, object>> | undefined;
  readonly experimental: Readonly<Record<string, object>> | undefined;
  /** Given, not made up for this process: other processes can open what this one seals. */
  readonly secretsGiven: boolean;
  readonly states: RequestStates;
  /** Approvals that were used: of this process, or of all that share a store, once one is mounted. */
  spent: SpentNonces | SpentElsewhere;
  /** Answers that every caller gets, encoded once, until a list changes. */
  readonly kept: Map<string, EncodedResult>;
  /** How handlers ask the client. */
  readonly ask: Ask;
  /** Told of every fault that the caller is not. Never throws. */
  readonly onError: (error: unknown, context?: Context) => void;
  /** The transports, each with its connections: every notice goes to all of them. */
  readonly listeners: Set<(notice: Notice) => void>;
}

/** Keep the answer that every caller gets under `key`, until a list changes. */
export function keep(core: ServerCore, key: string, result: unknown): EncodedResult {
  const encoded = new EncodedResult(result);
  if (core.kept.size >= maxKept) core.kept.clear();
  core.kept.set(key, encoded);
  return encoded;
}

/** Send a notice to every transport. */
export function publish(core: ServerCore, notice: Notice): void {
  for (const listener of core.listeners) listener(notice);
}
