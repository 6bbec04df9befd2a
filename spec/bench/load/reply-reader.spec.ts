/** The benchmark's eyes: a reply is the same however it arrives. */
import { bodyOf, ReplyReader } from './reply-reader';
import type { Reply } from './reply-reader';

const body = '{"result":"grüße"}';
const bytes = Buffer.from(body);
const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
const sized = Buffer.from(`${head}Content-Length: ${bytes.length}\r\n\r\n${body}`);
const chunked = Buffer.concat([
  Buffer.from(`${head}Transfer-Encoding: chunked\r\n\r\n7\r\n`),
  bytes.subarray(0, 7),
  Buffer.from(`\r\n${(bytes.length - 7).toString(16)}\r\n`),
  bytes.subarray(7),
  Buffer.from('\r\n0\r\n\r\n'),
]);
const empty = Buffer.from('HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n');

/** All replies, when the bytes come in pieces of one size. */
function readIn(size: number, wire: Buffer): Reply[] {
  const reader = new ReplyReader();
  const replies: Reply[] = [];
  for (let at = 0; at < wire.length; at += size) {
    const reply = reader.read(wire.subarray(at, at + size));
    if (reply !== undefined) replies.push(reply);
  }
  return replies;
}

describe('The reader of replies', () => {
  it.each([
    ['with a length', sized],
    ['in chunks', chunked],
  ])('reads a reply %s, wherever it is cut', (_, wire) => {
    for (let size = 1; size <= wire.length; size += 1) {
      const replies = readIn(size, wire);
      expect(replies).toHaveLength(1);
      expect(replies[0]!.status).toBe(200);
      expect(bodyOf(replies[0]!)).toBe(body);
    }
  });

  it('reads one reply after another on a connection', () => {
    const reader = new ReplyReader();
    const read = [sized, empty, chunked, sized].map((wire) => reader.read(wire)!);
    expect(read.map(({ status }) => status)).toEqual([200, 202, 200, 200]);
    expect(read.map(bodyOf)).toEqual([body, '', body, body]);
  });

  it('gives nothing before the last byte', () => {
    for (const wire of [sized, chunked, empty]) expect(readIn(wire.length, wire.subarray(0, -1))).toEqual([]);
  });
});
