/** What every server of the benchmark offers, and what it can be asked for. */
import type { RequestListener } from 'node:http';

/** How a server is set up. Each takes what it knows. */
export interface Settings {
  /** Ours: where the router is. @default 'express' */
  mount?: 'express' | 'parsed' | 'plain' | 'connect';
  /** The official SDK 2.x: whom it serves. @default 'both' */
  eras?: 'both' | 'sessions' | 'modern';
  /** Tools registered besides those that are called. @default 0 */
  tools?: number;
  /** Ours: an authorizer that allows, instead of `allowAll`. @default false */
  authorizer?: boolean;
  /** Ours and the hand-written route: the header `X-User` says who calls. @default false */
  users?: boolean;
  /** Ours: the Redis that sessions are in, by its URL. @default none, sessions are in memory */
  redis?: string;
  /** Ours: how long a session may be idle, in milliseconds. @default half an hour */
  idleMs?: number;
  /** The hand-written route: the body that answers `tools/list`. @default none */
  list?: string;
}

/** A server that can be measured. It answers at `/mcp` to `echo`, `big` and `measure`. */
export interface BenchServer {
  readonly listener: RequestListener;
  /** Tell all open streams that the tools have changed. @param frame The bytes to write, for those who do not make them. */
  announce?(frame: string): void;
}

/** The export of each file in `servers/`. */
export interface Adapter {
  createBenchServer(settings: Settings): BenchServer | Promise<BenchServer>;
}

/** The files in `servers/`. */
export type ServerName = 'raw-http' | 'express-route' | 'express-mcp' | 'official-1' | 'official-2' | 'mcp-lite';

/** What the measuring process may ask a server for; the answer is a number, 0 where there is nothing to say. */
export type Question =
  /** CPU time of the process so far, in microseconds. */
  | { what: 'cpu' }
  /** Bytes alive on the heap, after collections, once so many connections are open. */
  | { what: 'heap'; connections: number }
  /** {@link BenchServer.announce}. */
  | { what: 'announce'; frame: string }
  /** Note from now on which functions run. */
  | { what: 'startProfile' }
  /** Write to `file` which they were. */
  | { what: 'stopProfile'; file: string };

/** What a started process waits for. */
export interface Order {
  readonly name: ServerName;
  readonly settings: Settings;
}

/** What the tool `big` returns, and the tool `measure` is given. */
export const megabyte = 'abcdefgh'.repeat(2 ** 17);

/** Name and description of the tools that are only there. */
export function fillers(count: number): { name: string; description: string }[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `filler_${index}`,
    description: `Tool number ${index} of a server that has many`,
  }));
}
