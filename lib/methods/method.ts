/** What every method of the protocol is, for the dispatcher. */
import type { CallContext } from '../call-context';
import type { ServerCore } from '../core';

/** What has to be declared on the server for a method to exist; `core` always does. */
export type Feature = 'core' | 'tools' | 'resources' | 'prompts' | 'completions';

/** Whose decision a method waits for, while nobody has taken it. */
export type Hook = 'tools' | 'reads' | 'any';

/** One method: its params are parsed, then it runs. */
export interface Method {
  readonly feature: Feature;
  /** Where it depends on what is asked for, found in the params as they came. */
  readonly hook: Hook | ((params: Record<string, unknown> | undefined) => Hook);
  readonly run: (core: ServerCore, params: never, context: CallContext) => unknown;
  /** Names the answer, where every caller of a revision gets the same one: it is encoded once. */
  readonly keyOf: ((core: ServerCore, params: never, context: CallContext) => string | undefined) | undefined;
  /** @throws {McpError} -32602 */
  readonly parse: (params: Record<string, unknown> | undefined) => unknown;
}

/** Tie a method's parser to its code, so that the types agree. */
export function method<Params>(
  feature: Feature,
  hook: Method['hook'],
  parse: (params: Record<string, unknown> | undefined) => Params,
  run: (core: ServerCore, params: Params, context: CallContext) => unknown,
  keyOf?: (core: ServerCore, params: Params, context: CallContext) => string | undefined,
): Method {
  return { feature, hook, parse, run, keyOf };
}
