/** Closed when nobody decided: a server with sensitive tools does not start, whatever the transport. */
import type { ServerCore } from '../core';

/** Names of the tools that may do harm. */
export function sensitiveTools({ tools }: ServerCore['registry']): string[] {
  return [...tools.values()].filter(({ definition }) => definition.sensitive).map(({ name }) => name);
}

/** @throws {TypeError} if a sensitive tool is registered and nobody has decided who may use it; `door` names the caller. */
export function checkSensitive({ registry, authorizerConfigured }: ServerCore, door: string): void {
  if (authorizerConfigured) return;
  const sensitive = sensitiveTools(registry);
  if (sensitive.length === 0) return;
  throw new TypeError(
    `${door}: ${sensitive.map((name) => `"${name}"`).join(', ')} may do harm, and nobody has decided who may use it: ` +
      'give McpServer the option authorizer (allowAll lets everybody)',
  );
}
