/** One session's live state: its calls, questions and streams, and their common end. */
import { Session, standaloneStreamId } from '../../lib/sessions/session';
import type { RunningCall } from '../../lib/sessions/session';
import type { JsonRpcResponse } from '../../lib/protocol/types';
import { createRecord } from '../support/session-store-contract';
import { createSink } from '../support/sink';

const limits = { waitingLimit: 10, waitingBytes: 1_000, historyLimit: 10, historyBytes: 1_000 };
const openedAt = 1_000;

function createSession(): Session {
  return new Session(createRecord('s'), limits, openedAt);
}

function createCall(requestId: string | number = 1) {
  const call = { cancelled: [] as unknown[], ended: [] as unknown[] };
  const running: RunningCall = {
    requestId,
    cancel: (reason) => void call.cancelled.push(reason),
    sessionEnded: (reason) => void call.ended.push(reason),
  };
  return Object.assign(running, call);
}

function answerTo(id: string | number): JsonRpcResponse {
  return { jsonrpc: '2.0', id, result: {} };
}

describe('the ids of elicitations', () => {
  it('are each one’s own, and known to the session on every node', () => {
    const [here, there] = [createSession(), createSession()];
    const ids = [here.createElicitationId(), here.createElicitationId()];
    expect(ids[0]).not.toBe(ids[1]);
    expect(ids.map((id) => there.isElicitationId(id))).toEqual([true, true]);
    const other = new Session(createRecord('t'), limits, openedAt);
    expect(ids.map((id) => other.isElicitationId(id))).toEqual([false, false]);
  });
});

describe('running calls', () => {
  it.each([0, '', 1, '1', '__proto__', 'constructor'])('are found under their id: %j', (id) => {
    const session = createSession();
    const call = createCall(id);
    session.addCall(call);
    expect(session.cancelCall(id, 'enough')).toBe(true);
    expect(call.cancelled).toEqual(['enough']);
  });

  it.each<[string | number, string | number]>([
    [0, '0'],
    [0, ''],
    ['', 0],
    [1, 2],
    ['__proto__', 'constructor'],
  ])('are not found under another: %j is not %j', (id, other) => {
    const session = createSession();
    const call = createCall(id);
    session.addCall(call);
    expect(session.cancelCall(other, 'enough')).toBe(false);
    expect(call.cancelled).toEqual([]);
  });

  it('that share an id are each counted, cancelled and removed', () => {
    const session = createSession();
    const [first, second] = [createCall(), createCall()];
    session.addCall(first);
    session.addCall(second);
    expect(session.callCount).toBe(2);
    session.removeCall(first);
    session.removeCall(first);
    expect(session.callCount).toBe(1);
    session.cancelCall(1, 'enough');
    expect([first.cancelled, second.cancelled]).toEqual([[], ['enough']]);
    session.removeCall(second);
    expect([session.callCount, session.cancelCall(1, 'again')]).toEqual([0, false]);
  });
});

describe('questions', () => {
  it('are answered once', () => {
    const session = createSession();
    const answers: unknown[] = [];
    session.addQuestion('q', (answer) => answers.push(answer));
    expect(session.answer(answerTo('q'))).toBe(true);
    expect(session.answer(answerTo('q'))).toBe(false);
    expect(answers).toEqual([answerTo('q')]);
  });

  it.each(['other', '', 0, 1, '__proto__'])('are not answered under another id: %j', (id) => {
    const session = createSession();
    const settle = jest.fn();
    session.addQuestion('q', settle);
    expect(session.answer(answerTo(id))).toBe(false);
    expect(settle).not.toHaveBeenCalled();
  });

  it('are not answered once nobody waits any more', () => {
    const session = createSession();
    const settle = jest.fn();
    session.addQuestion('q', settle);
    session.removeQuestion('q');
    expect(session.answer(answerTo('q'))).toBe(false);
    expect(settle).not.toHaveBeenCalled();
  });

  it('settle without an answer when none can come', () => {
    const session = createSession();
    const settle = jest.fn();
    session.addQuestion('q', settle);
    session.leaveUnanswered();
    session.leaveUnanswered();
    expect(settle.mock.calls).toEqual([[undefined]]);
  });
});

describe('a session is idle', () => {
  it('from the start', () => {
    expect(createSession().isIdle).toBe(true);
  });

  it('unless a call runs', () => {
    const session = createSession();
    const call = createCall();
    session.addCall(call);
    expect(session.isIdle).toBe(false);
    session.removeCall(call);
    expect(session.isIdle).toBe(true);
  });

  it('since its last call ended, however long that ran', () => {
    const session = createSession();
    const call = createCall();
    session.addCall(call);
    session.removeCall(call);
    expect(session.lastActiveAt).toBeGreaterThan(openedAt);
  });

  it('unless a question is open', () => {
    const session = createSession();
    session.addQuestion('q', () => undefined);
    expect(session.isIdle).toBe(false);
    session.answer(answerTo('q'));
    expect(session.isIdle).toBe(true);
  });

  it.each(['standalone', 'openStream'] as const)('unless a stream is read: %s', (which) => {
    const session = createSession();
    const stream = which === 'standalone' ? session.standalone : session.openStream().stream;
    const sink = createSink();
    stream.attach(sink);
    expect(session.isIdle).toBe(false);
    stream.detach(sink);
    expect(session.isIdle).toBe(true);
  });

  it('although a stream is open that nobody reads', () => {
    const session = createSession();
    session.standalone.attach(Object.assign(createSink(), { dead: true }));
    expect(session.isIdle).toBe(true);
  });

  it('although messages wait', () => {
    const session = createSession();
    session.standalone.send('waits');
    expect([session.isIdle, session.waiting]).toEqual([true, 1]);
  });
});

describe('streams', () => {
  it('have ids of their own, none of them the standalone one', () => {
    const session = createSession();
    const ids = Array.from({ length: 50 }, () => session.openStream().id);
    expect(new Set([...ids, standaloneStreamId]).size).toBe(51);
    expect(ids.every((id) => !id.includes('.'))).toBe(true);
  });

  it('are found by their id', () => {
    const session = createSession();
    const { id, stream } = session.openStream();
    expect(session.findStream(id)).toBe(stream);
    expect(session.findStream('nope')).toBeUndefined();
    expect(session.standalone).toBe(session.findStream(standaloneStreamId));
    expect(session.standalone).toBe(session.standalone);
  });

  it('that are finished are kept for a while, the newest 32', () => {
    const session = createSession();
    const ids = Array.from({ length: 40 }, () => session.openStream().id);
    ids.forEach((id, n) => session.streamFinished(id, n));
    expect(ids.filter((id) => session.findStream(id) !== undefined)).toEqual(ids.slice(8));
  });

  it('that are finished are forgotten with time, the others not', () => {
    const session = createSession();
    const [old, recent, running] = [session.openStream(), session.openStream(), session.openStream()];
    session.streamFinished(old.id, 10);
    session.streamFinished(recent.id, 20);
    session.dropFinished(10);
    expect([old, recent, running].map(({ id }) => session.findStream(id) !== undefined)).toEqual([false, true, true]);
    expect(session.findStream(standaloneStreamId) ?? session.standalone).toBeDefined();
  });

  it('that are being read are not forgotten before they have been, however many there are', () => {
    const session = createSession();
    const opened = Array.from({ length: 40 }, () => session.openStream());
    const sinks = opened.map(({ id, stream }, n) => {
      const sink = createSink();
      stream.attach(sink);
      session.streamFinished(id, n);
      return sink;
    });
    session.dropFinished(1_000);
    expect(opened.every(({ id }) => session.findStream(id) !== undefined)).toBe(true);
    opened.forEach(({ stream }, n) => stream.detach(sinks[n]!));
    session.dropFinished(1_000);
    expect(opened.some(({ id }) => session.findStream(id) !== undefined)).toBe(false);
  });

  it('that nobody reads are closed when they are forgotten', () => {
    const session = createSession();
    const { id, stream } = session.openStream();
    const sink = Object.assign(createSink(), { dead: true });
    stream.attach(sink);
    session.streamFinished(id, 0);
    session.dropFinished(0);
    expect([session.findStream(id), sink.closed]).toEqual([undefined, 1]);
  });
});

describe('the end', () => {
  it('reaches calls, questions and streams, once', () => {
    const session = createSession();
    const call = createCall();
    const settle = jest.fn();
    const [standalone, finished] = [createSink(), createSink(1)];
    session.addCall(call);
    session.addQuestion('q', settle);
    session.standalone.attach(standalone);
    const { stream } = session.openStream();
    stream.attach(finished);
    stream.send('1');
    stream.send('2');
    stream.finish();
    session.end('client');
    session.end('shutdown');
    expect(session.endReason).toBe('client');
    expect([call.ended, settle.mock.calls]).toEqual([['client'], [[undefined]]]);
    expect([standalone.closed, finished.closed]).toEqual([1, 1]);
    expect(session.waiting).toBe(0);
  });

  it('leaves the stream of a running call open for its answer', () => {
    const session = createSession();
    const sink = createSink();
    session.openStream().stream.attach(sink);
    session.end('client');
    expect(sink.closed).toBe(0);
  });
});
