/** One node's two connections to Redis: one for commands, one to hear. Bounded in time, and patient. */
import { createHash } from 'node:crypto';
import { UnavailableError } from '../protocol/errors';
import { within } from '../protocol/promise';
import { Link, noAnswer, reconnectDelay } from './link';
import type { Client } from './link';

/** A client of node-redis 5 or later, made by `createClient` or `createCluster`. It is never used itself, and need not be connected. */
export interface RedisClient {
  duplicate(): unknown;
}

/** A script with its digest. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

export function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

export interface ConnectionOptions {
  /** How long a command may take. */
  readonly commandTimeoutMs: number;
  readonly onError: (error: unknown) => void;
  /** Hears what is published on the channels. What it throws is reported. */
  readonly channels: readonly string[];
  readonly hear: (message: string) => void;
  /** What is kept at these keys is none of ours. @returns True if it is gone now. */
  readonly onSpoiled: (keys: readonly string[]) => Promise<boolean>;
  /** The subscriber was away, and is back. */
  readonly onReturn: () => void;
  /** A connection that has not answered for so long leads nowhere. @default 5_000 */
  readonly silentMs?: number;
}

/** Commands under way at once; beyond, they are refused rather than queued. */
const maxCommands = 10_000;

/** Between the same complaint and the next, in milliseconds. */
const complaintIntervalMs = 10_000;

/** What Redis says of keys of another type, and of text where a number has to be; on whatever line of a script. */
const spoiled =
  /^WRONGTYPE|^ERR .*(attempt to|bad argument|not an integer|not a (valid )?float|Invalid stream ID|ID specified in XADD)/;

function isSpoiled(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof Error && spoiled.test(error.cause.message);
}

/** Owns both connections; ends with {@link Connection.close}. */
export class Connection {
  readonly #commands: Link;
  readonly #subscriber: Link;
  readonly #options: Required<ConnectionOptions>;
  /** Who cannot hear the others must not serve. */
  readonly #first: Promise<unknown>;
  #connected = false;
  #closed = false;
  #watching: NodeJS.Timeout | undefined;
  readonly #complaints = new Map<string, number>();

  constructor(client: RedisClient, { silentMs = 5_000, ...options }: ConnectionOptions) {
    this.#options = { ...options, silentMs };
    // Only what `Client` lists is used, and every client of node-redis 5 or later has it.
    const given = client as unknown as Client;
    const settings = {
      disableOfflineQueue: true,
      commandsQueueMaxLength: maxCommands,
      // A ping is written once the one before is answered: without an answer the socket falls silent.
      pingInterval: silentMs,
      socket: { ...given.options?.socket, socketTimeout: 2 * silentMs, reconnectStrategy: reconnectDelay },
    };
    const link = {
      attemptMs: 2 * silentMs,
      retireMs: options.commandTimeoutMs,
      onError: (error: unknown) => this.#complain(error),
    };
    this.#commands = new Link({ ...link, create: () => given.duplicate(settings) });
    this.#subscriber = new Link({
      ...link,
      // Its queue holds nothing but subscriptions.
      create: () => given.duplicate({ ...settings, disableOfflineQueue: false }),
      prepare: (subscriber) => this.#subscribe(subscriber),
    });
    this.#first = Promise.all([this.#commands.first, this.#subscriber.first]);
    this.#first.then(
      () => (this.#connected = true),
      () => undefined, // closed; whoever waits for it hears so
    );
  }

  async #subscribe(subscriber: Client): Promise<void> {
    const { channels, hear, onReturn } = this.#options;
    await subscriber.subscribe([...channels], (message) => {
      try {
        hear(message);
      } catch (error) {
        this.#complain(error);
      }
    });
    // A cluster's client says it of each of its connections.
    for (const event of ['ready', 'node-ready'] as const) subscriber.on(event, () => onReturn());
  }

  /** Every attempt to reconnect fails in the same way; once in a while is enough. */
  #complain(error: unknown): void {
    if (this.#closed) return;
    const text = error instanceof Error ? error.message || error.name : String(error);
    const now = Date.now();
    if (now - (this.#complaints.get(text) ?? -Infinity) < complaintIntervalMs) return;
    if (this.#complaints.size > 100) this.#complaints.clear();
    this.#complaints.set(text, now);
    this.#options.onError(new Error(`Redis: ${text}`, { cause: error }));
  }

  run(what: Script, keys: string[], args: readonly (string | number)[]): Promise<unknown> {
    const input = { keys, arguments: args.map(String) };
    return this.#unspoiled(keys, async (commands) => {
      try {
        return await commands.evalSha(what.sha, input);
      } catch (error) {
        if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
        return commands.eval(what.text, input);
      }
    });
  }

  readHash(key: string): Promise<Record<string, string>> {
    return this.#unspoiled([key], (commands) => commands.hGetAll(key));
  }

  /** @returns How many hear it. */
  publish(channel: string, message: string): Promise<number> {
    return this.#bounded((commands) => commands.publish(channel, message));
  }

  /** Once more, without what was none of ours. */
  async #unspoiled<T>(keys: readonly string[], command: (commands: Client) => Promise<T>): Promise<T> {
    try {
      return await this.#bounded(command);
    } catch (error) {
      if (!isSpoiled(error) || !(await this.#options.onSpoiled(keys))) throw error;
      return this.#bounded(command);
    }
  }

  /** @throws {UnavailableError} after the time limit at the latest. What was sent may still be carried out. */
  async #bounded<T>(command: (commands: Client) => Promise<T>): Promise<T> {
    const commands = this.#commands.current;
    // Only the first connection is waited for; later, a Redis that is away is told at once.
    const sent =
      this.#connected && commands !== undefined
        ? command(commands)
        : this.#first.then(() => command(this.#commands.current!)); // of use by now
    try {
      const { commandTimeoutMs } = this.#options;
      const watch = () => this.#watch(sent, commands);
      return await within(sent, commandTimeoutMs, () => noAnswer(commandTimeoutMs), watch);
    } catch (cause) {
      this.#complain(cause);
      throw new UnavailableError('Sessions cannot be reached right now', { cause });
    }
  }

  /** What was sent is late. One at a time is watched: where a connection leads nowhere, all are late. */
  #watch(sent: Promise<unknown>, commands: Client | undefined): void {
    if (commands === undefined || this.#watching !== undefined || this.#closed) return;
    const { commandTimeoutMs, silentMs } = this.#options;
    let settled = false;
    const settle = () => void (settled = true);
    sent.then(settle, settle);
    this.#watching = setTimeout(
      () => {
        this.#watching = undefined;
        if (!settled) this.#commands.renew(commands);
      },
      Math.max(0, silentMs - commandTimeoutMs),
    ).unref();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#watching);
    this.#commands.close();
    this.#subscriber.close();
  }
}
