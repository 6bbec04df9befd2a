/** What keeps other code's prints off the protocol's stream. */
import { PassThrough } from 'node:stream';
import { divert } from '../../lib/stdio/divert';

const text = (stream: PassThrough): string => String((stream.read() as Buffer | null) ?? '');

describe('a diverted stream', () => {
  it('takes what comes through the way left open; all else goes to the other, until it is restored', async () => {
    const [stream, instead] = [new PassThrough(), new PassThrough()];
    const other = new console.Console(stream, stream);
    const { write, restore } = divert(stream, instead);
    expect(stream.write('a')).toBe(true);
    other.log('b');
    write('c');
    expect([text(stream), text(instead)]).toEqual(['c', 'ab\n']);
    restore();
    other.log('d');
    expect([text(stream), text(instead)]).toEqual(['d\n', '']);
  });

  it('lets a pipe go on, and calls its callbacks', async () => {
    const [stream, instead] = [new PassThrough(), new PassThrough({ highWaterMark: 1 })];
    divert(stream, instead);
    expect(stream.write('more than one byte')).toBe(true);
    instead.resume();
    await new Promise<void>((resolve) => stream.write('x', 'utf8', () => resolve()));
    await new Promise<void>((resolve) => stream.write('x', () => resolve()));
  });

  it('leaves a layer in place that somebody has put over it', () => {
    const [stream, instead] = [new PassThrough(), new PassThrough()];
    const { restore } = divert(stream, instead);
    const layer = () => true;
    stream.write = layer;
    restore();
    expect(stream.write).toBe(layer);
  });
});
