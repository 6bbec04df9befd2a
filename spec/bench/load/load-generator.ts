/** Sends requests over keep-alive connections, each as soon as the last is answered, and checks every reply. */
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { bodyOf, ReplyReader } from './reply-reader';
import type { Reply } from './reply-reader';
import { idDigits } from './requests';
import type { WireRequest } from './requests';

export const defaultConnections = 50;

export interface LoadOptions {
  /** @default 50 */
  connections?: number | undefined;
  /** Of every reply. @default 200 */
  status?: number;
  /** Whether each reply carries the id of its request, and all are of one length. @default true */
  exact?: boolean;
  onReply?: (reply: Reply, request: number) => void;
}

/** A run without a single reply for so long has failed, in milliseconds. */
const patienceMs = 20_000;

let lastId = 10 ** (idDigits - 1);

/** One connection: at most one request under way. */
interface Lane {
  readonly socket: Socket;
  readonly id: Buffer;
  /** Its share of the requests is this one, and every one that is a multiple of the connections further. */
  readonly first: number;
  next: number;
  sent: number;
}

export class LoadGenerator {
  readonly #requests: readonly WireRequest[];
  readonly #options: Required<Pick<LoadOptions, 'status' | 'exact'>> & LoadOptions;
  readonly #lanes: Lane[] = [];
  #started = 0;
  #answered = 0;
  #total = 0;
  #deadline = 0;
  #once = false;
  #length = 0;
  #finish: (error?: Error) => void = () => {};

  private constructor(requests: readonly WireRequest[], options: LoadOptions) {
    this.#requests = requests;
    this.#options = { status: 200, exact: true, ...options };
  }

  /** Connect, and send nothing yet. Each connection takes its own share of the requests, in turn. */
  static async open(
    port: number,
    requests: readonly WireRequest[],
    { connections = defaultConnections, ...options }: LoadOptions = {},
  ): Promise<LoadGenerator> {
    // Bytes are written to while they are being sent, so no two connections may share them.
    const own =
      requests.length >= connections
        ? requests
        : Array.from({ length: connections }, (_, index) => copy(requests[index % requests.length]!));
    const load = new LoadGenerator(own, options);
    for (let index = 0; index < connections; index += 1) await load.#connect(port, index);
    return load;
  }

  async #connect(port: number, index: number): Promise<void> {
    const reader = new ReplyReader();
    const onread = {
      buffer: Buffer.allocUnsafe(65_536),
      callback: (length: number, buffer: Uint8Array): boolean => {
        const reply = reader.read((buffer as Buffer).subarray(0, length));
        if (reply !== undefined) this.#receive(lane, reply);
        return true;
      },
    };
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, onread });
    const lane: Lane = { socket, id: Buffer.alloc(idDigits), first: index, next: index, sent: index };
    socket.on('error', (error) => this.#finish(error));
    socket.on('close', () => this.#finish(new Error('The server has closed a connection')));
    await once(socket, 'connect');
    this.#lanes.push(lane);
  }

  /**
   * Send `total` requests, and for `durationMs` at most, or without either each request once; and wait for the replies.
   *
   * @returns How many there were.
   * @throws {Error} for a reply that is wrong, showing it, or none.
   */
  async run({ total, durationMs }: { total?: number; durationMs?: number } = {}): Promise<number> {
    this.#started = this.#answered = 0;
    this.#once = total === undefined && durationMs === undefined;
    this.#total = total ?? Infinity;
    this.#deadline = performance.now() + (durationMs ?? Infinity);
    let seen = -1;
    const watch = setInterval(() => {
      if (seen === this.#answered) this.#finish(new Error(`No reply for ${patienceMs} ms`));
      seen = this.#answered;
    }, patienceMs);
    try {
      await new Promise<void>((resolve, reject) => {
        this.#finish = (error) => (error === undefined ? resolve() : reject(error));
        for (const lane of this.#lanes) this.#send(lane);
      });
    } finally {
      clearInterval(watch);
      this.#finish = () => {};
    }
    return this.#answered;
  }

  #send(lane: Lane): void {
    if (lane.next >= this.#requests.length) return;
    if (this.#started >= this.#total || performance.now() >= this.#deadline) return;
    this.#started += 1;
    const { bytes, idAt } = this.#requests[lane.next]!;
    lane.sent = lane.next;
    lane.next += this.#lanes.length;
    if (lane.next >= this.#requests.length && !this.#once) lane.next = lane.first;
    if (idAt >= 0) {
      writeDigits(lane.id, (lastId += 1));
      lane.id.copy(bytes, idAt);
    }
    lane.socket.write(bytes);
  }

  #receive(lane: Lane, reply: Reply): void {
    const wrong = this.#check(lane, reply);
    if (wrong !== undefined) return this.#finish(new Error(`${wrong}:\n${reply.bytes.toString('utf8', 0, 2_000)}`));
    this.#options.onReply?.(reply, lane.sent);
    this.#answered += 1;
    this.#send(lane);
    if (this.#answered === this.#started) this.#finish();
  }

  /** What is wrong with a reply. The first is read; of the others, length and id are enough to know that they are the same. */
  #check(lane: Lane, reply: Reply): string | undefined {
    const { status, exact } = this.#options;
    if (reply.status !== status) return `Status is not ${status}`;
    if (!exact) return undefined;
    if (this.#length === 0) {
      const body = bodyOf(reply);
      if (!body.includes('"result"') || body.includes('"isError":true')) return 'Not a result';
      this.#length = reply.bytes.length;
    }
    if (reply.isSized && reply.bytes.length !== this.#length) return `Not as long as the first reply (${this.#length})`;
    return reply.bytes.includes(lane.id) ? undefined : 'The reply to another request';
  }

  close(): void {
    for (const { socket } of this.#lanes) socket.destroy();
  }
}

function copy({ bytes, idAt }: WireRequest): WireRequest {
  return { bytes: Buffer.from(bytes), idAt };
}

function writeDigits(target: Buffer, value: number): void {
  for (let at = idDigits - 1, rest = value; at >= 0; at -= 1, rest = Math.floor(rest / 10))
    target[at] = 48 + (rest % 10);
}

/** Send each request once. */
export async function sendAll(
  port: number,
  requests: readonly WireRequest[],
  options: LoadOptions = {},
): Promise<void> {
  const connections = Math.min(options.connections ?? defaultConnections, requests.length);
  const load = await LoadGenerator.open(port, requests, { ...options, connections });
  try {
    await load.run();
  } finally {
    load.close();
  }
}
