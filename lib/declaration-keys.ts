/** Which settings a declaration has, and what is meant by what is often written for them. */
import type { PromptConfig, ResourceConfig, ToolConfig } from './declarations';
import { checkKeys, hintFor } from './settings';
import type { Keys } from './settings';

const toolKeys: Keys<ToolConfig> = {
  title: true,
  description: true,
  inputSchema: true,
  outputSchema: true,
  annotations: true,
  sensitive: true,
  icons: true,
  stream: true,
  timeoutMs: true,
  _meta: true,
};
const toolHints = {
  ...hintFor(
    ['schema', 'input', 'parameters', 'params', 'paramsSchema', 'args', 'argsSchema', 'arguments'],
    () => 'did you mean inputSchema?',
  ),
  output: 'did you mean outputSchema?',
  timeout: 'did you mean timeoutMs?',
  destructiveHint: 'it is one of annotations: { destructiveHint: true }',
  readOnlyHint: 'it is one of annotations: { readOnlyHint: true }',
};
/** These alone: clients may know annotations that we do not. */
const annotationHints: Readonly<Record<string, string>> = {
  destructive: 'destructiveHint',
  readOnly: 'readOnlyHint',
  readonly: 'readOnlyHint',
  idempotent: 'idempotentHint',
  openWorld: 'openWorldHint',
};

/** @throws {TypeError} beginning with `owner`. */
export function checkToolKeys(owner: string, config: ToolConfig): void {
  checkKeys(owner, config, toolKeys, toolHints);
  for (const key of Object.keys(config.annotations ?? {})) {
    if (Object.hasOwn(annotationHints, key))
      throw new TypeError(`${owner}: annotations.${key}: did you mean ${annotationHints[key]}?`);
  }
}

const resourceKeys: Keys<ResourceConfig> = {
  title: true,
  description: true,
  mimeType: true,
  size: true,
  annotations: true,
  icons: true,
  _meta: true,
  complete: true,
  list: true,
  cache: true,
};

/** @throws {TypeError} beginning with `owner`. */
export function checkResourceKeys(owner: string, config: ResourceConfig): void {
  checkKeys(owner, config, resourceKeys, { mimetype: 'did you mean mimeType?' });
}

const promptKeys: Keys<PromptConfig> = {
  title: true,
  description: true,
  argsSchema: true,
  complete: true,
  icons: true,
  _meta: true,
};
const promptHints = hintFor(
  ['schema', 'inputSchema', 'arguments', 'args', 'parameters'],
  () => 'did you mean argsSchema?',
);

/** @throws {TypeError} beginning with `owner`. */
export function checkPromptKeys(owner: string, config: PromptConfig): void {
  checkKeys(owner, config, promptKeys, promptHints);
}
