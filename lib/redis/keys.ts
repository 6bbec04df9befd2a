/** The names of everything that is kept in Redis. What one script touches has one hash tag, and so one slot of a cluster. */
import { createHash } from 'node:crypto';

export interface Keys {
  /** All of a session's keys have its tag. */
  session(id: string): string;
  /** The session that a key belongs to, if it is one's. */
  sessionOf(key: string): string | undefined;
  stream(id: string, streamId: string): string;
  streamState(id: string, streamId: string): string;
  /** What counts for the whole of a store. */
  readonly all: string;
  /** Whose each session is: told when it has ended by itself. */
  readonly owners: string;
  /** People's names are no business of whoever reads keys. */
  principal(principal: string): string;
  readonly seq: string;
  /** The latest of each key. */
  readonly notices: string;
  /** The latest that have none. */
  readonly said: string;
  /** Their bytes, the number of the last, and of the last that is forgotten. */
  readonly saidState: string;
  /** How many notices of a node have been told. */
  told(node: string): string;
  spent(nonce: string): string;
  node(node: string): string;
  /** The channel of one node is this and its name. */
  readonly nodeChannel: string;
  readonly broadcastChannel: string;
}

/** Session ids that may be looked up: of the letters that ours have. Any other could be part of another store's key. */
const lookedUp = /^[\w-]{1,128}$/;

export function isSessionId(id: string): boolean {
  return lookedUp.test(id);
}

export function createKeys(prefix: string): Keys {
  return {
    session: (id) => `{${prefix}:${id}}`,
    sessionOf(key) {
      const start = `{${prefix}:`;
      const id = key.slice(start.length).split('}')[0]!;
      return key.startsWith(start) && isSessionId(id) ? id : undefined;
    },
    stream: (id, streamId) => `{${prefix}:${id}}:e:${streamId}`,
    streamState: (id, streamId) => `{${prefix}:${id}}:s:${streamId}`,
    all: `{${prefix}}:all`,
    owners: `{${prefix}}:owners`,
    principal: (principal) => `{${prefix}}:p:${createHash('sha256').update(principal).digest('base64url')}`,
    seq: `{${prefix}}:seq`,
    notices: `{${prefix}}:notices`,
    said: `{${prefix}}:said`,
    saidState: `{${prefix}}:said:state`,
    told: (node) => `{${prefix}}:told:${node}`,
    spent: (nonce) => `${prefix}:spent:${nonce}`,
    node: (node) => `${prefix}:node:${node}`,
    nodeChannel: `${prefix}:n:`,
    broadcastChannel: `${prefix}:all`,
  };
}
