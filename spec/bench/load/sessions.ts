/** Begins and ends many sessions. */
import { sendAll } from './load-generator';
import { endSession, initialize, initialized } from './requests';

export interface SessionOptions {
  /** Whether each session belongs to a user of its own, named in `X-User`. @default false */
  users?: boolean;
  /** More headers. `MCP-Protocol-Version` is also the revision asked for. */
  headers?: Record<string, string>;
}

/** Begin `count` sessions, handshake included, and close the connections they came over. */
export async function beginSessions(port: number, count: number, options: SessionOptions = {}): Promise<string[]> {
  const sessionIds = new Array<string>(count).fill('');
  const requests = sessionIds.map((_, index) => initialize(headersOf(index, options)));
  await sendAll(port, requests, {
    onReply({ bytes, bodyAt }, request) {
      sessionIds[request] = /\r\nmcp-session-id: *(\S+)/i.exec(bytes.toString('latin1', 0, bodyAt))![1]!;
    },
  });
  const notifications = sessionIds.map((id, index) => initialized(id, headersOf(index, options)));
  await sendAll(port, notifications, { status: 202, exact: false });
  return sessionIds;
}

/** End sessions that {@link beginSessions} began. */
export async function endSessions(
  port: number,
  sessionIds: readonly string[],
  options: SessionOptions = {},
): Promise<void> {
  const requests = sessionIds.map((id, index) => endSession(id, headersOf(index, options)));
  await sendAll(port, requests, { status: 204, exact: false });
}

function headersOf(index: number, { users = false, headers = {} }: SessionOptions): Record<string, string> {
  return users ? { ...headers, 'X-User': `user-${index}@bench.example` } : headers;
}
