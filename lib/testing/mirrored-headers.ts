/** What of a modern request travels in HTTP headers as well. */
import { mirroredParams } from '../protocol/mirrored-params';
import type { MirroredParam } from '../protocol/mirrored-params';
import type { Tool } from '../protocol/types';

/** Which parameters of which tool travel in headers, as far as a list has told. */
export class MirroredHeaders {
  readonly #byTool = new Map<string, readonly MirroredParam[]>();

  learn(tools: readonly Tool[]): void {
    for (const { name, inputSchema } of tools) this.#byTool.set(name, mirroredParams(inputSchema));
  }

  /** @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#standard-request-headers */
  of(method: string, params: Record<string, unknown>, revision: string): Record<string, string> {
    const headers: Record<string, string> = { 'MCP-Protocol-Version': revision, 'Mcp-Method': method };
    const name = method === 'resources/read' ? params.uri : params.name;
    if (/^(tools\/call|prompts\/get|resources\/read)$/.test(method) && typeof name === 'string')
      headers['Mcp-Name'] = encodeHeaderValue(name);
    for (const { header, path } of (method === 'tools/call' && this.#byTool.get(String(name))) || []) {
      const value = path.reduce<unknown>(
        (at, key) => (at as Record<string, unknown> | undefined)?.[key],
        params.arguments,
      );
      if (value !== undefined && value !== null) headers[header] = encodeHeaderValue(String(value));
    }
    return headers;
  }
}

/** As it stands where a header can carry it unchanged, else as Base64 of its UTF-8. */
function encodeHeaderValue(value: string): string {
  const isPlain = /^(?:[!-~](?:[\t -~]*[!-~])?)?$/.test(value) && !/^=\?base64\?.*\?=$/.test(value);
  return isPlain ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}
