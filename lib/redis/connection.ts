/** One node's two connections to Redis: one for commands, one to hear. Bounded in time, and patient. */
import { createHash } from 'node:crypto';
import { UnavailableError } from '../protocol/errors';

/** What is used of a client of node-redis, whatever its modules and protocol version. */
interface Client {
  duplicate(overrides?: object): Client;
  connect(): Promise<unknown>;
  on(event: 'error' | 'ready' | 'node-ready', listener: (error: unknown) => void): unknown;
  evalSha(sha: string, input: { keys: string[]; arguments: string[] }): Promise<unknown>;
  eval(script: string, input: { keys: string[]; arguments: string[] }): Promise<unknown>;
  hGetAll(key: string): Promise<Record<string, string>>;
  publish(channel: string, message: string): Promise<number>;
  subscribe(channels: string[], listener: (message: string) => void): Promise<unknown>;
  destroy(): void;
  readonly options?: { readonly socket?: object } | undefined;
}

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
  /** Hears what is published on the channels. */
  readonly channels: readonly string[];
  readonly hear: (message: string) => void;
  /** The subscriber was away, and is back. */
  readonly onReturn: () => void;
}

/** Commands under way at once; beyond, they are refused rather than queued. */
const maxCommands = 10_000;

/** Between the same complaint and the next, in milliseconds. */
const complaintIntervalMs = 10_000;

/** Waits longer each time, up to two seconds, and never as long as the other nodes. */
export function reconnectDelay(retries: number): number {
  return Math.round(Math.min(2_000, 50 * 2 ** Math.min(retries, 6)) * (0.5 + Math.random()));
}

/** Owns both connections; ends with {@link Connection.close}. */
export class Connection {
  readonly #commands: Client;
  readonly #subscriber: Client;
  readonly #options: ConnectionOptions;
  readonly #first: Promise<unknown>;
  #connected = false;
  #closed = false;
  readonly #complaints = new Map<string, number>();

  constructor(client: RedisClient, options: ConnectionOptions) {
    this.#options = options;
    // Only what `Client` lists is used, and every client of node-redis 5 or later has it.
    const given = client as unknown as Client;
    const settings = {
      disableOfflineQueue: true,
      commandsQueueMaxLength: maxCommands,
      pingInterval: 5_000,
      socket: { ...given.options?.socket, reconnectStrategy: reconnectDelay },
    };
    this.#commands = given.duplicate(settings);
    // Its queue holds nothing but subscriptions.
    this.#subscriber = given.duplicate({ ...settings, disableOfflineQueue: false });
    for (const connection of [this.#commands, this.#subscriber])
      connection.on('error', (error) => this.#complain(error));
    this.#first = this.#connect();
    this.#first.catch((error: unknown) => this.#complain(error));
  }

  async #connect(): Promise<void> {
    const { channels, hear } = this.#options;
    await Promise.all([this.#commands.connect(), this.#subscriber.connect()]);
    await this.#subscriber.subscribe([...channels], hear);
    this.#connected = true;
    // A cluster's client says it of each of its connections.
    for (const event of ['ready', 'node-ready'] as const) this.#subscriber.on(event, () => this.#options.onReturn());
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
    return this.#bounded(async () => {
      try {
        return await this.#commands.evalSha(what.sha, input);
      } catch (error) {
        if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
        return this.#commands.eval(what.text, input);
      }
    });
  }

  readHash(key: string): Promise<Record<string, string>> {
    return this.#bounded(() => this.#commands.hGetAll(key));
  }

  /** @returns How many hear it. */
  publish(channel: string, message: string): Promise<number> {
    return this.#bounded(() => this.#commands.publish(channel, message));
  }

  /** @throws {UnavailableError} after the time limit at the latest. What was sent may still be carried out. */
  async #bounded<T>(command: () => Promise<T>): Promise<T> {
    const { commandTimeoutMs } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer within ${commandTimeoutMs} ms`)), commandTimeoutMs);
    });
    try {
      // Only the first connection is waited for; later, a Redis that is away is told at once.
      return await Promise.race([this.#connected ? command() : this.#first.then(command), tooLate]);
    } catch (cause) {
      this.#complain(cause);
      throw new UnavailableError('Sessions cannot be reached right now', { cause });
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const connection of [this.#commands, this.#subscriber]) {
      try {
        connection.destroy();
      } catch {
        // It was never open: that is as closed as can be.
      }
    }
  }
}
