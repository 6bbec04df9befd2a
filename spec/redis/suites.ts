/** Which suites run once more through three nodes, what of them does not, and why. */
import type { Different } from '../support/rerun';

const counted = 'each node counts the copies that it has';
const capped = 'calls, streams and questions are limited on each node';
const clock = 'the clock is Redis’s, which a spec cannot move';
const timers = 'a node gives a sign of life, and is connected to Redis, as long as it is open';
const between = 'the sockets of the round-robin are between node and client, and take what the spec sends';
const waits = 'what a session waits for that listens nowhere is in Redis, and counted by no node';
const refused = 'streams that replace each other on different nodes are not refused';
const prefix = 'these servers have a prefix each, and Redis knows of an approval under its prefix';
const outlive = 'sessions outlive the nodes';
const eachNode = 'each node does it';
const oneNode = 'the spec does more to the first node than to the others';

/** Sessions and streams over HTTP. */
export const streamSuites: Readonly<Record<string, Different>> = {
  'http/accept': {},
  'http/browsers': {},
  'http/cancelled-questions': {},
  'http/close-stream': {
    'SHOULD leave the client an event id and a retry time, and then close; the client resumes by GET':
      'a stream that is read on another node stays open, and the client gets the rest there',
  },
  'http/disconnect': {},
  'http/history': {},
  'http/inbox': {
    'is full for one session only': 'what Redis has not been told yet waits too, though its client reads',
    'holds one notice for each resource that changed, of those subscribed to': waits,
    'is not kept what cannot be merged: it is counted, and the session lives': waits,
    'is not failed for notices that do not fit: they are counted': waits,
  },
  'http/keep-alive': { 'stops with the last stream of a modern client': timers },
  'http/observation': {
    'and rejects, does no harm: the console hears of it': eachNode,
    'hears once, at mount, what is served to whom': eachNode,
    'counts what is open, running and waiting': counted,
  },
  'http/principal': {},
  'http/progress': {},
  'http/repeated-headers': {},
  'http/reply': {},
  'http/resuming': {},
  'http/scope-challenge': {},
  'http/session-end': {},
  'http/session-ids': {},
  'http/session-limits': {
    'does not count what it refuses': counted,
    'lets the one that has been idle for longest go, once that is a minute': clock,
    'is how long a session lives that nobody uses; then its id is 404': clock,
    'does not run while a stream is open, and runs when it is not': clock,
    'does not run while a call runs, and begins anew when it has ended': clock,
    'does not run while a call waits for the human': clock,
    'leaves no timer behind when the last session has ended': clock,
  },
  'http/session-owner': { 'its id in initialize opens a session of the other, and ends nothing': counted },
  'http/session-stream': {
    'is refused with 409 when it comes back within a minute against its successor, which notices nothing': refused,
    'that is refused disturbs no running call': refused,
  },
  'http/shutdown': {
    'end, and their owner hears why': outlive,
    'are not those of another mount of the same server': oneNode,
  },
  'http/slow-readers': {
    'holds maxSocketBytes on its socket, then the inbox fills, then the session fails': between,
    'is bounded by default too, and no other client notices': between,
    'gets everything, once and in order, when it reads on in time': between,
    'is cut when its session has failed and nothing leaves for twice keepAliveMs': between,
    'is dead after twice keepAliveMs: who replaces it is not the newer of two': refused,
  },
  'http/sse': {},
  'http/stream-always': {},
  'http/token-expiry': {},
  'sessions-at-once': {
    'are counted': counted,
    'leave no timer and no socket behind when the mount has closed': timers,
  },
};

/** What is said over them: calls, questions, decisions, and the clients that people use. */
export const callSuites: Readonly<Record<string, Different>> = {
  'authorizer/approval': {
    'that several servers of a process share let an approval be spent at one of them only': prefix,
  },
  'authorizer/asking-legacy': {},
  'authorizer/asking-modern': {},
  'authorizer/capabilities': {},
  'authorizer/clients': {},
  'authorizer/deciding': {},
  'authorizer/hidden': {},
  'authorizer/interleavings': {
    'end once each, run at most once and only after a yes, and leave neither timer nor listener': timers,
  },
  'authorizer/lists': {},
  'authorizer/pages': {},
  'authorizer/reads': {},
  'clients/features': {},
  'clients/modern': {},
  'clients/questions': {},
  'clients/sessions': {},
  'methods/arguments': {},
  'methods/logging': {},
  'methods/notices': {},
  'methods/tool-failures': {},
  'protocol/batches': {},
  'protocol/cancellation': {},
  'protocol/envelope': {},
  'protocol/error-ids': { 'is refused under its id': capped },
  'protocol/id-collisions': {},
  'protocol/lifecycle': {},
  'protocol/methods-and-params': {},
  'protocol/notifications': {},
  'protocol/versions': {},
  'robustness/faults': {},
};

const before = 'what it is about is settled before a session is looked for';

/** Suites that open sessions too, and are about what no other node has a part in. */
export const apart: Readonly<Record<string, string>> = {
  'http/answered-by-host': 'its store is one that waits',
  budget: 'how many functions a call on one node may run',
  'error-codes': before,
  'http/bearer-auth': before,
  'http/call-limits': capped,
  'http/content-type': before,
  'http/hostile-handlers': 'what a handler does to its own node',
  'http/log': eachNode,
  'http/modern-headers': before,
  'http/mounting': 'mounts of one app',
  'http/param-headers': before,
  'http/undecided': before,
  'protocol/modern-meta': before,
  'robustness/fuzz': 'one node at a time',
  'robustness/restart': outlive,
  stack: 'what a stack trace says on its node',
};
