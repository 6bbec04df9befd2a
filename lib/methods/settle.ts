/** How a handler's call ends: with what it asked, before anything it made of being stopped. */
import { lacking } from '../authorizer/ask';
import type { CallContext } from '../call-context';
import type { InputRequiredResult } from '../protocol/types';
import { serverInfoKey } from '../protocol/params';
import { isObject } from '../protocol/json-rpc';

/**
 * The handler's result, or the questions that it has asked instead.
 *
 * @param limitMs How long what runs once may still take, before the questions go out.
 * @throws The handler's failure; where that is what the client cannot be asked, with all that it cannot be asked.
 */
export async function settle<T>(
  context: CallContext,
  result: T | undefined,
  failure: unknown,
  limitMs?: number,
): Promise<T | InputRequiredResult> {
  const { rounds } = context;
  if (rounds?.missing.has(failure)) throw lacking(rounds.missing.values());
  if (rounds !== undefined && rounds.asked.size > 0) return rounds.inputRequired(context, limitMs);
  if (result === undefined) throw failure;
  return result;
}

/** An author's result without what is the protocol's to say: its type, how long it may be kept, who answers. */
export function authored<T extends object>(result: T): T {
  const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, ...rest } = result as T & Record<string, unknown>;
  const { _meta: meta } = rest as Record<string, unknown>;
  if (!isObject(meta) || !(serverInfoKey in meta)) return rest as T;
  const { [serverInfoKey]: _info, ...own } = meta;
  return { ...rest, _meta: own } as unknown as T;
}
