/** A connection to Redis that is there for good: tried until it can be made, and made anew where it leads nowhere. */
import { setTimeout as delay } from 'node:timers/promises';
import { within } from '../protocol/promise';

/** What is used of a client of node-redis, whatever its modules and protocol version. */
export interface Client {
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

export interface LinkOptions {
  readonly create: () => Client;
  /** What it needs before it is of use. */
  readonly prepare?: (client: Client) => Promise<unknown>;
  /** How long it may take until it is of use; then another one is tried. */
  readonly attemptMs: number;
  /** How long one that was replaced stays, for what may still be answered. */
  readonly retireMs: number;
  readonly onError: (error: unknown) => void;
}

/** Waits longer each time, up to two seconds, and never as long as the other nodes. */
export function reconnectDelay(retries: number): number {
  return Math.round(Math.min(2_000, 50 * 2 ** Math.min(retries, 6)) * (0.5 + Math.random()));
}

/** What a promise rejects with that was not kept. */
export function noAnswer(limitMs: number): Error {
  return new Error(`no answer within ${limitMs} ms`);
}

/** Owns its clients: the one in use, the one that is tried, and one that was replaced. Ends with {@link Link.close}. */
export class Link {
  readonly #options: LinkOptions;
  readonly #clients = new Set<Client>();
  #current: Client | undefined;
  #renewing = false;
  #closed = false;
  /** The first that is of use; rejects only if that has become pointless. */
  readonly first: Promise<Client>;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.first = this.#make();
    this.first.catch(() => undefined); // who needs it hears of it
  }

  get current(): Client | undefined {
    return this.#current;
  }

  /** Take another one for `client`, which does not answer. It stays in use until that is there. */
  renew(client: Client): void {
    if (client !== this.#current || this.#renewing) return;
    this.#renewing = true;
    this.#make().then(
      () => {
        this.#renewing = false;
        setTimeout(() => this.#discard(client), this.#options.retireMs).unref();
      },
      () => undefined, // closed
    );
  }

  async #make(): Promise<Client> {
    for (let retries = 0; !this.#closed; retries += 1) {
      const client = this.#create();
      try {
        const { attemptMs } = this.#options;
        await within(this.#prepare(client), attemptMs, () => noAnswer(attemptMs));
        return (this.#current = client);
      } catch (error) {
        this.#options.onError(error);
        this.#discard(client);
      }
      await delay(reconnectDelay(retries), undefined, { ref: false });
    }
    throw new Error('The connection is closed');
  }

  #create(): Client {
    const client = this.#options.create();
    this.#clients.add(client);
    client.on('error', (error) => {
      if (this.#clients.has(client)) this.#options.onError(error);
    });
    client.on('ready', () => {
      // Its socket was on its way when it was discarded.
      if (!this.#clients.has(client)) this.#discard(client);
    });
    return client;
  }

  async #prepare(client: Client): Promise<void> {
    await client.connect();
    await this.#options.prepare?.(client);
  }

  #discard(client: Client): void {
    this.#clients.delete(client);
    try {
      client.destroy();
    } catch {
      // It was never open: that is as closed as can be.
    }
  }

  close(): void {
    this.#closed = true;
    for (const client of this.#clients) this.#discard(client);
  }
}
