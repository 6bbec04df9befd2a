/** Many open SSE streams, and what arrives on them. */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import type { WireRequest } from './requests';

/** Streams opened at once, so that no listen queue runs over. */
const width = 50;
const patienceMs = 20_000;

export class EventStreams {
  readonly #sockets: Socket[] = [];
  #marker = '';
  #missing = 0;
  #arrived: (frame: string) => void = () => {};

  /** Open one stream for each request. Resolves when all have begun. */
  static async open(port: number, requests: readonly WireRequest[]): Promise<EventStreams> {
    const streams = new EventStreams();
    for (let at = 0; at < requests.length; at += width) {
      await Promise.all(requests.slice(at, at + width).map((request) => streams.#open(port, request)));
    }
    return streams;
  }

  #open(port: number, { bytes }: WireRequest): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(bytes));
      this.#sockets.push(socket);
      socket.setEncoding('latin1');
      socket.on('error', reject);
      socket.on('data', (chunk) => this.#read(String(chunk)));
      socket.once('data', (chunk) => {
        if (String(chunk).startsWith('HTTP/1.1 200')) resolve();
        else reject(new Error(`No stream:\n${String(chunk)}`));
      });
    });
  }

  /** Wait until `marker` has come on each stream. Called before what makes it come. @returns One of the frames it came in. */
  next(marker: string): Promise<string> {
    this.#marker = marker;
    this.#missing = this.#sockets.length;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`"${marker}" did not come on ${this.#missing} streams`)),
        patienceMs,
      );
      this.#arrived = (chunk) => {
        clearTimeout(timer);
        resolve(withoutChunking(chunk));
      };
    });
  }

  #read(chunk: string): void {
    if (this.#missing === 0 || !chunk.includes(this.#marker)) return;
    this.#missing -= 1;
    if (this.#missing === 0) this.#arrived(chunk);
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** What the server wrote, without the size before it and the line break after it. */
function withoutChunking(chunk: string): string {
  return chunk.replace(/^[0-9a-f]+\r\n/i, '').replace(/\r\n$/, '');
}
