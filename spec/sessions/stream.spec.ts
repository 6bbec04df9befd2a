/** One stream's messages: in order, within bounds, to whatever socket is there. */
import { Stream } from '../../lib/sessions/stream';
import type { StreamLimits } from '../../lib/sessions/stream';
import { createSink } from '../support/sink';

const roomy: StreamLimits = { waitingLimit: 100, waitingBytes: 10_000, historyLimit: 100, historyBytes: 10_000 };

function createStream(limits: Partial<StreamLimits> = {}): Stream {
  return new Stream({ ...roomy, ...limits });
}

/** Send `count` messages named by their position. */
function fill(stream: Stream, count: number): void {
  for (let n = 1; n <= count; n++) expect(stream.send(`${stream.position + stream.waiting + 1}`)).toBe(true);
}

describe('a message', () => {
  it('goes to the socket at once, and is numbered from 1', () => {
    const stream = createStream();
    const sink = createSink();
    stream.attach(sink);
    fill(stream, 3);
    expect(sink.written.map(({ position, json }) => [position, json])).toEqual([
      [1, '1'],
      [2, '2'],
      [3, '3'],
    ]);
    expect([stream.waiting, stream.position]).toEqual([0, 3]);
  });

  it('waits while there is no socket, and goes first when there is one', () => {
    const stream = createStream();
    fill(stream, 2);
    expect([stream.waiting, stream.position]).toEqual([2, 0]);
    const sink = createSink();
    stream.attach(sink);
    fill(stream, 1);
    expect(sink.texts()).toEqual(['1', '2', '3']);
  });

  it('waits for the next socket when the last one has gone', () => {
    const stream = createStream();
    const [first, second] = [createSink(), createSink()];
    stream.attach(first);
    fill(stream, 1);
    stream.detach(first);
    fill(stream, 1);
    stream.attach(second);
    expect([first.texts(), second.texts()]).toEqual([['1'], ['2']]);
  });

  it('goes to one socket only', () => {
    const stream = createStream();
    const [first, second] = [createSink(), createSink()];
    stream.attach(first);
    stream.attach(second);
    expect([first.closed, second.closed]).toEqual([1, 0]);
    fill(stream, 1);
    expect([first.texts(), second.texts()]).toEqual([[], ['1']]);
  });

  it('does not mind a socket going that was replaced long ago', () => {
    const stream = createStream();
    const [first, second] = [createSink(), createSink()];
    stream.attach(first);
    stream.attach(second);
    stream.detach(first);
    expect([stream.attached, stream.sink]).toEqual([true, second]);
  });
});

describe('a full socket', () => {
  it('is left alone until it has drained', () => {
    const stream = createStream();
    const sink = createSink(2);
    stream.attach(sink);
    fill(stream, 5);
    expect(sink.texts()).toEqual(['1', '2']);
    expect(stream.waiting).toBe(3);
    sink.room = 2;
    stream.pump();
    expect(sink.texts()).toEqual(['1', '2', '3', '4']);
    stream.send('6');
    expect(sink.texts()).toHaveLength(4);
    sink.room = 100;
    stream.pump();
    expect(sink.texts()).toEqual(['1', '2', '3', '4', '5', '6']);
  });

  it('is no reason to leave the next one alone', () => {
    const stream = createStream();
    stream.attach(createSink(1));
    fill(stream, 3);
    const next = createSink();
    stream.attach(next);
    fill(stream, 1);
    expect(next.texts()).toEqual(['2', '3', '4']);
  });

  it('gets the last message before it is closed', () => {
    const stream = createStream();
    const sink = createSink(1);
    stream.attach(sink);
    fill(stream, 2);
    stream.finish();
    expect(sink.closed).toBe(0);
    sink.room = 5;
    stream.pump();
    expect([sink.texts(), sink.closed]).toEqual([['1', '2'], 1]);
  });
});

describe('the limit of what waits', () => {
  it('holds for messages: one more does not fit, and nothing is lost for it', () => {
    const stream = createStream({ waitingLimit: 3 });
    fill(stream, 3);
    expect(stream.send('one too many')).toBe(false);
    const sink = createSink();
    stream.attach(sink);
    expect(sink.texts()).toEqual(['1', '2', '3']);
    expect(stream.send('fits again')).toBe(true);
  });

  it('holds for bytes, not characters', () => {
    const stream = createStream({ waitingBytes: 6 });
    expect(stream.send('ééé')).toBe(true);
    expect(stream.send('x')).toBe(false);
    expect(createStream({ waitingBytes: 5 }).send('ééé')).toBe(false);
  });

  it('holds while a socket is full', () => {
    const stream = createStream({ waitingLimit: 2 });
    stream.attach(createSink(1));
    fill(stream, 3);
    expect([stream.send('one too many'), stream.waiting]).toEqual([false, 2]);
  });

  it('does not hold for what the socket takes at once', () => {
    const stream = createStream({ waitingBytes: 1, waitingLimit: 1 });
    const sink = createSink();
    stream.attach(sink);
    expect(stream.send('longer than what may wait')).toBe(true);
    expect(sink.texts()).toEqual(['longer than what may wait']);
  });

  it('does not let a full socket have what is too long to wait', () => {
    const stream = createStream({ waitingBytes: 1 });
    const sink = createSink(1);
    stream.attach(sink);
    stream.send('1');
    expect(stream.send('22')).toBe(false);
    expect(sink.texts()).toEqual(['1']);
  });

  it('does not hold for a result', () => {
    const stream = createStream({ waitingLimit: 1 });
    fill(stream, 1);
    expect(stream.send('result', undefined, true)).toBe(true);
    const sink = createSink();
    stream.attach(sink);
    expect(sink.texts()).toEqual(['1', 'result']);
  });

  it('counts anew when a resuming client makes written messages wait again', () => {
    const stream = createStream({ waitingLimit: 2, waitingBytes: 2 });
    stream.attach(createSink());
    fill(stream, 5);
    const blocked = createSink(1);
    stream.attach(blocked, 2);
    expect([blocked.texts(), stream.waiting]).toEqual([['3'], 2]);
    expect(stream.send('6')).toBe(false);
  });
});

describe('messages of one kind', () => {
  it('are one message while they wait', () => {
    const stream = createStream({ waitingLimit: 2 });
    for (const key of ['tools', 'prompts', 'tools', 'prompts', 'tools']) expect(stream.send(key, key)).toBe(true);
    const sink = createSink();
    stream.attach(sink);
    expect(sink.texts()).toEqual(['tools', 'prompts']);
  });

  it('are two when the first has been written', () => {
    const stream = createStream();
    const sink = createSink();
    stream.attach(sink);
    stream.send('tools', 'tools');
    stream.send('tools', 'tools');
    expect(sink.texts()).toEqual(['tools', 'tools']);
  });

  it('are told of again after a client has claimed to know of one that waits', () => {
    const stream = createStream();
    stream.send('tools', 'tools');
    const sink = createSink();
    stream.attach(sink, 1);
    expect(sink.texts()).toEqual([]);
    stream.send('tools', 'tools');
    expect(sink.texts()).toEqual(['tools']);
  });
});

describe('resuming', () => {
  it.each([
    [0, ['1', '2', '3']],
    [1, ['2', '3']],
    [3, []],
  ])('after %i gives %j', (after, expected) => {
    const stream = createStream();
    stream.attach(createSink());
    fill(stream, 3);
    const sink = createSink();
    stream.attach(sink, after);
    expect(sink.texts()).toEqual(expected);
    expect(sink.written.map(({ position }) => `${position}`)).toEqual(expected);
  });

  it('gives what was written and what waits, in order', () => {
    const stream = createStream();
    stream.attach(createSink(2));
    fill(stream, 4);
    const sink = createSink();
    stream.attach(sink, 1);
    expect(sink.texts()).toEqual(['2', '3', '4']);
  });

  it('can be done again and again', () => {
    const stream = createStream();
    stream.attach(createSink());
    fill(stream, 3);
    stream.finish();
    for (let n = 0; n < 3; n++) {
      const sink = createSink();
      stream.attach(sink, 1);
      expect([sink.texts(), sink.closed]).toEqual([['2', '3'], 1]);
    }
  });

  it('leaves out what the client has seen although it was thought unwritten', () => {
    const stream = createStream();
    fill(stream, 3);
    const sink = createSink();
    stream.attach(sink, 2);
    expect(sink.texts()).toEqual(['3']);
    expect([stream.waiting, stream.position]).toEqual([0, 3]);
  });

  it('is possible after any position that the stream has reached, no further', () => {
    const stream = createStream();
    fill(stream, 2);
    expect([0, 1, 2, 3].map((position) => stream.reaches(position))).toEqual([true, true, true, false]);
  });
});

describe('the history', () => {
  it('keeps so many messages, the newest', () => {
    const stream = createStream({ historyLimit: 2 });
    stream.attach(createSink());
    fill(stream, 5);
    const sink = createSink();
    stream.attach(sink, 0);
    expect(sink.texts()).toEqual(['4', '5']);
  });

  it('keeps so many bytes', () => {
    const stream = createStream({ historyBytes: 4 });
    stream.attach(createSink());
    for (const text of ['aa', 'bb', 'é']) stream.send(text);
    const sink = createSink();
    stream.attach(sink, 0);
    expect(sink.texts()).toEqual(['bb', 'é']);
  });

  it.each([{ historyLimit: 0 }, { historyBytes: 0 }])('can be none: %j', (limits) => {
    const stream = createStream(limits);
    const sink = createSink();
    stream.attach(sink);
    fill(stream, 2);
    const late = createSink();
    stream.attach(late, 0);
    expect([sink.texts(), late.texts()]).toEqual([['1', '2'], []]);
  });

  it('never gives up what is not written yet', () => {
    const stream = createStream({ historyLimit: 1 });
    fill(stream, 5);
    const sink = createSink();
    stream.attach(sink);
    expect(sink.texts()).toHaveLength(5);
  });
});

describe('the end', () => {
  it('closes the socket once everything is written', () => {
    const stream = createStream();
    const sink = createSink();
    stream.attach(sink);
    fill(stream, 1);
    stream.finish();
    expect([sink.closed, stream.finished, stream.attached]).toEqual([1, true, false]);
  });

  it('waits for a socket where there is none', () => {
    const stream = createStream();
    fill(stream, 1);
    stream.finish();
    const sink = createSink();
    stream.attach(sink);
    expect([sink.texts(), sink.closed]).toEqual([['1'], 1]);
  });

  it('lets the socket go whatever waits, when it is closed', () => {
    const stream = createStream();
    const sink = createSink(1);
    stream.attach(sink);
    fill(stream, 3);
    stream.close();
    stream.close();
    expect([sink.closed, stream.attached, stream.waiting]).toEqual([1, false, 2]);
  });

  it('is no end where it goes on elsewhere: what waits is not written, and whoever comes late is sent away', () => {
    const stream = createStream();
    fill(stream, 2);
    const [first, second] = [createSink(), createSink()];
    stream.attach(first);
    stream.detach(first);
    fill(stream, 1);
    stream.leave();
    stream.attach(second, 1);
    expect([second.texts(), second.closed, stream.attached]).toEqual([[], 1, false]);
  });
});
