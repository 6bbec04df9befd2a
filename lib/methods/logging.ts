/**
 * `logging/setLevel`: how much a legacy session wants to hear.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging
 */
import type { CallContext } from '../call-context';
import type { ServerCore } from '../core';
import { parseSetLevelParams } from '../protocol/params';
import { method } from './method';

async function setLevel(
  _core: ServerCore,
  { level }: ReturnType<typeof parseSetLevelParams>,
  { caller }: CallContext,
): Promise<object> {
  if (caller.session !== undefined) {
    caller.session.record.logLevel = level;
    await caller.saveSession();
  }
  return {};
}

export const loggingMethods = { 'logging/setLevel': method('core', 'any', parseSetLevelParams, setLevel) };
