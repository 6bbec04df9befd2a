/** What is taken for a message of another node. */
import { parseNodeMessage } from '../../lib/redis/node-message';
import type { NodeMessage } from '../../lib/sessions/shared-store';

const messages: NodeMessage[] = [
  { kind: 'ended', id: 'a', reason: 'inbox-full' },
  { kind: 'changed', id: 'a' },
  { kind: 'answer', id: 'a', response: { jsonrpc: '2.0', id: 'n.1', result: {} } },
  { kind: 'cancel', id: 'a', requestId: 7, reason: 'why' },
  { kind: 'notice', from: 'n', seq: 1, notice: { message: { jsonrpc: '2.0', method: 'm' }, mergeKey: 'k', uri: 'u' } },
  { kind: 'notice', from: 'n', seq: 1, notice: { message: { jsonrpc: '2.0', method: 'm' } } },
  { kind: 'wake', id: 'a', streamId: 's' },
  { kind: 'taken', id: 'a', streamId: 's', by: 'n' },
  { kind: 'untold', id: 'a', streamId: 's', position: 3, by: 'n' },
  { kind: 'unsaid', id: 'a', streamId: 's', position: 3 },
  { kind: 'letGo', id: 'a', streamId: 's', position: 0 },
  { kind: 'ask', id: 'a', json: '{"id":"n.1"}' },
  { kind: 'notAsked', id: 'a', question: 'n.1' },
  { kind: 'ping' },
  { kind: 'resync' },
];

describe('A message of another node', () => {
  it.each(messages)('is one: %j', (message) => {
    expect(parseNodeMessage(JSON.stringify(message))).toEqual(message);
  });

  it.each(messages.filter(({ kind }) => kind !== 'ping' && kind !== 'resync'))('lacks nothing: %j', (message) => {
    const optional = ['mergeKey', 'uri'];
    for (const name of Object.keys(message))
      for (const wrong of [undefined, null, [], -0.5, {}])
        expect([name, parseNodeMessage(JSON.stringify({ ...message, [name]: wrong }))]).toEqual([name, undefined]);
    if (message.kind !== 'notice') return;
    for (const name of ['message', ...optional]) {
      const notice = { ...message.notice, [name]: 5 };
      expect([name, parseNodeMessage(JSON.stringify({ ...message, notice }))]).toEqual([name, undefined]);
    }
  });

  it.each([
    'null',
    '5',
    '"x"',
    '{}',
    '[]',
    'not json',
    '',
    '{"kind":"__proto__"}',
    '{"kind":"toString"}',
    '{"kind":"ended","id":"a","reason":"toString"}',
    '{"kind":"ask","id":"q","json":"{{"}',
    '{"kind":"ask","id":"q","json":"null"}',
    '{"kind":"notice","from":"x","seq":1,"notice":{"message":{"method":5}}}',
    '{"kind":"notice","from":"x","seq":"a","notice":{"message":{"method":"m"}}}',
    '{"kind":"notice","from":"x","seq":1000000000}',
  ])('is not %s', (text) => {
    expect(parseNodeMessage(text)).toBeUndefined();
  });
});
