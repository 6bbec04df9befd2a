/** Reads HTTP replies off one connection, one at a time: a request is only sent when the last reply is whole. */

export interface Reply {
  readonly status: number;
  /** Head and body. Valid until the next read. */
  readonly bytes: Buffer;
  readonly bodyAt: number;
  /** Whether the server has said how long the body is; else it came in pieces. */
  readonly isSized: boolean;
}

const headEnd = Buffer.from('\r\n\r\n');
/** No JSON holds a raw line break, so this cannot be part of a body. */
const lastChunk = Buffer.from('0\r\n\r\n');

export class ReplyReader {
  readonly #parts: Buffer[] = [];
  #length = 0;
  #status = 0;
  #bodyAt = 0;
  /** Bytes of the whole reply; NaN where the server does not say. */
  #needed = 0;

  /** Take what has arrived; give the reply once it is whole. @param chunk Is copied where it must be kept. */
  read(chunk: Buffer): Reply | undefined {
    this.#length += chunk.length;
    if (this.#bodyAt === 0) this.#readHead(this.#parts.length === 0 ? chunk : Buffer.concat([...this.#parts, chunk]));
    if (!this.#isWhole(chunk)) {
      this.#parts.push(Buffer.from(chunk));
      return undefined;
    }
    const reply: Reply = {
      status: this.#status,
      bytes: this.#parts.length === 0 ? chunk : Buffer.concat([...this.#parts, chunk]),
      bodyAt: this.#bodyAt,
      isSized: !Number.isNaN(this.#needed),
    };
    this.#parts.length = this.#length = this.#bodyAt = 0;
    return reply;
  }

  #readHead(bytes: Buffer): void {
    const end = bytes.indexOf(headEnd);
    if (end < 0) return;
    const head = bytes.toString('latin1', 0, end);
    this.#status = Number(head.slice(9, 12));
    this.#bodyAt = end + headEnd.length;
    const size = this.#status === 204 ? 0 : Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1]);
    this.#needed = this.#bodyAt + size;
  }

  #isWhole(chunk: Buffer): boolean {
    if (this.#bodyAt === 0) return false;
    if (!Number.isNaN(this.#needed)) return this.#length >= this.#needed;
    if (this.#length < this.#bodyAt + lastChunk.length) return false;
    const tail =
      chunk.length < lastChunk.length ? Buffer.concat([...this.#parts.slice(-lastChunk.length), chunk]) : chunk;
    return tail.subarray(-lastChunk.length).equals(lastChunk);
  }
}

/** The body as text, put together where it came in pieces. */
export function bodyOf({ bytes, bodyAt, isSized }: Reply): string {
  if (isSized) return bytes.toString('utf8', bodyAt);
  const pieces: Buffer[] = [];
  for (let at = bodyAt; ;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    const size = parseInt(bytes.toString('latin1', at, lineEnd), 16);
    if (!(size > 0)) return Buffer.concat(pieces).toString();
    pieces.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}
