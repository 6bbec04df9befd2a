/** One client for specs that hold in both eras. */
import { mergeHeaders } from './exchange';
import { legacySession, modern, modernRequest, post } from './wire';
import type { Headers, LegacyOptions, Reply, Stream, Target } from './wire';
import { modernRevision } from './schema';
import type { Revision } from './schema';

export const eras = ['legacy', 'modern'] as const;
export type Era = (typeof eras)[number];

interface Options {
  id?: unknown;
  headers?: Headers;
  validate?: boolean;
}

export interface EraClient {
  era: Era;
  revision: Revision;
  request(method: string, params?: Record<string, unknown>, options?: Options): Promise<Reply>;
  stream(method: string, params?: Record<string, unknown>, options?: Options): Promise<Stream>;
  callTool(name: string, args?: unknown, options?: Options): Promise<Reply>;
  notify(method: string, params?: Record<string, unknown>, options?: Options): Promise<Reply>;
  /** A request as this era writes it, to be bent. */
  message(method: string, params?: Record<string, unknown>, id?: unknown): Record<string, unknown>;
  /** The headers of a POST of this method (and name) in this era. */
  headers(method: string, name?: string): Headers;
  /** POST anything, with the headers that a request of this method (and name) has in this era. */
  post(body: unknown, options?: Omit<Options, 'id'> & { method?: string; name?: string }): Promise<Reply>;
}

/** A client of one era; `legacy` has its session open. */
export async function connect(era: Era, target: Target, options: LegacyOptions = {}): Promise<EraClient> {
  if (era === 'legacy') {
    const session = await legacySession(target, options);
    return {
      era,
      revision: session.revision,
      request: session.request,
      stream: session.stream,
      callTool: session.callTool,
      notify: session.notify,
      message: (method, params, id = 'm') => ({ jsonrpc: '2.0', id, method, params }),
      headers: () => session.headers,
      post: (body, { headers, validate } = {}) => session.post(body, { headers, validate }),
    };
  }
  const { headers: common = {}, capabilities } = options;
  const client = modern(target, common);
  const headersOf = (method: string, name?: string) =>
    modernRequest(method, name === undefined ? {} : { name }, { headers: common }).headers;
  return {
    era,
    revision: modernRevision,
    request: (method, params, rest) => client.request(method, params, { capabilities, ...rest }),
    stream: (method, params, rest) => client.stream(method, params, { capabilities, ...rest }),
    callTool: (name, args, rest) => client.callTool(name, args, { capabilities, ...rest }),
    notify: (method, params, rest) => client.notify(method, params, { capabilities, ...rest }),
    message: (method, params, id = 'm') => modernRequest(method, params, { id, capabilities }).body,
    headers: headersOf,
    post(body, { headers, validate, method = 'tools/list', name } = {}) {
      const sent = mergeHeaders(headersOf(method, name), headers);
      return post(target.url, body, sent, { revision: modernRevision, validate });
    },
  };
}
