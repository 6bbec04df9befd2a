/** Rows about the CPU time of one `tools/call` with a short argument and a short result. */
import type { Settings } from '../bench-server';
import type { Contender } from '../contenders';
import { echoCall, legacyRequest, modernRequest } from '../load/requests';
import type { WireRequest } from '../load/requests';
import { beginSessions, endSessions } from '../load/sessions';
import type { Row } from '../row';

const modern = () => [modernRequest('tools/call', echoCall)];
const session = (port: number) => inSessions(port, 50);

/** Calls in so many sessions, in turn. */
async function inSessions(port: number, count: number): Promise<WireRequest[]> {
  return (await beginSessions(port, count)).map((id) => legacyRequest(id, 'tools/call', echoCall));
}

/** Calls in the one session that is left of so many: the server has seen as much as one where all live. */
async function inOneOf(port: number, count: number): Promise<WireRequest[]> {
  const [left, ...others] = await beginSessions(port, count);
  await endSessions(port, others);
  return [legacyRequest(left!, 'tools/call', echoCall)];
}

/** It speaks up to 2025-06-18, and answers with JSON those who take nothing else. */
async function mcpLiteCalls(port: number): Promise<WireRequest[]> {
  const headers = { 'MCP-Protocol-Version': '2025-06-18', Accept: 'application/json' };
  const sessionIds = await beginSessions(port, 50, { headers });
  return sessionIds.map((id) => legacyRequest(id, 'tools/call', echoCall, headers));
}

function ours(requests: Contender['requests'], settings: Settings = {}): Contender {
  return { server: 'express-mcp', settings, requests };
}

function official(requests: Contender['requests'], eras: NonNullable<Settings['eras']>): Contender {
  return { server: 'official-2', settings: { eras }, requests };
}

const route: Contender = { server: 'express-route', requests: modern };
const raw: Contender = { server: 'raw-http', requests: modern };
const express = { modern: ours(modern), session: ours(session) };
// Small differences: each on a server of its own, which has seen as much as the other.
const few: Contender = { ...ours(modern), alone: true };
const oneSession: Contender = { ...ours((port, { sessions }) => inOneOf(port, sessions)), alone: true };
const manySessions: Contender = { ...ours((port, { sessions }) => inSessions(port, sessions)), alone: true };
const sdk1: Contender = { server: 'official-1', requests: session };
const mcpLite: Contender = { server: 'mcp-lite', requests: mcpLiteCalls };

type Line = [id: string, measure: string, subject: Contender, against: string, baseline: Contender, goal?: number];

function toRow([id, measure, subject, against, baseline, goal]: Line): Row {
  return { id, measure, against, unit: 'times', goal, method: [subject, baseline] };
}

const hand = 'hand-written route';
const plainNode = 'raw node:http';

// prettier-ignore
const lines: Line[] = [
  ['express-modern', 'call in Express, modern', express.modern, hand, route, 0.8],
  ['express-session', 'call in Express, session', express.session, hand, route, 0.8],
  ['plain-modern', 'call on createServer, modern', ours(modern, { mount: 'plain' }), plainNode, raw, 1.6],
  ['plain-session', 'call on createServer, session', ours(session, { mount: 'plain' }), plainNode, raw, 1.6],
  ['connect-modern', 'call under Connect, modern', ours(modern, { mount: 'connect' }), plainNode, raw, 1.6],
  ['both-session', 'call in Express, session', express.session, 'official SDK 2.x, both eras', official(session, 'both'), 0.18],
  ['both-modern', 'call in Express, modern', express.modern, 'official SDK 2.x, both eras', official(modern, 'both'), 0.12],
  ['only-session', 'call in Express, session', express.session, 'official SDK 2.x, only sessions', official(session, 'sessions'), 0.3],
  ['only-modern', 'call in Express, modern', express.modern, 'official SDK 2.x, only modern', official(modern, 'modern'), 0.16],
  ['parsed-modern', 'call behind express.json(), modern', ours(modern, { mount: 'parsed' }), hand, route, 1.05],
  ['parsed-session', 'call behind express.json(), session', ours(session, { mount: 'parsed' }), hand, route, 1.05],
  ['growth-tools', 'call with 1,000 tools, modern', { ...ours(modern, { tools: 1_000 }), alone: true }, 'with few', few, 1.05],
  ['growth-sessions', 'call in 10,000 sessions (quick: 2,000)', manySessions, 'in one session', oneSession, 1.05],
  ['authorizer', 'call past an authorizer that allows', { ...ours(modern, { authorizer: true }), alone: true }, 'allowAll', few, 1.03],
];

/** No goals: what others cost on the same machine. */
// prettier-ignore
const otherLines: Line[] = [
  ['raw', 'raw node:http', raw, hand, route],
  ['mcp-lite', 'mcp-lite, session', mcpLite, hand, route],
  ['official-1', 'official SDK 1.x, session', sdk1, hand, route],
];

export const callRows: readonly Row[] = lines.map(toRow);
export const otherRows: readonly Row[] = otherLines.map(toRow);
