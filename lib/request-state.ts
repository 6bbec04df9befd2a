/** Seals what travels through the client (`requestState`), opens it again, and remembers which of it is spent. */
import { createCipheriv, createDecipheriv, createHash, createSecretKey, hkdfSync, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { canonicalJson } from './protocol/canonical-json';

/** What a state belongs to: it opens only for an equal one. */
export interface Binding {
  principal?: string;
  method: string;
  /** Tool, prompt or resource. */
  name: string;
  /** The raw arguments; the order of their keys does not matter. */
  args: unknown;
}

interface Key {
  /** Version and key id: the clear beginning of every state that this key seals. */
  readonly head: Buffer;
  readonly key: KeyObject;
}

const cipherName = 'aes-256-gcm';
const version = 1;
const keyIdLength = 8;
const headLength = 1 + keyIdLength;
const ivLength = 12;
const tagLength = 16;
const minSecretLength = 32;
const maxStateLength = 65_536;
const defaultTtlMs = 600_000;

/** For servers that were given no secrets: what one process seals, no other opens. */
const processSecret = randomBytes(minSecretLength);

/**
 * Seals and opens states with a ring of keys: the first secret seals, all open. A state is base64url of version, key id,
 * IV, AES-256-GCM ciphertext and tag, and at most 65,536 characters.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
export class RequestStates {
  /** By head, as latin1. As many as there are secrets. */
  readonly #ring = new Map<string, Key>();
  readonly #current: Key;

  /**
   * @param secrets the current one, then previous ones, of 32 bytes or more each; default one random per process.
   * @param server the server's name: states of one server are of an unknown key to another, even under the same secrets.
   * @throws {TypeError} if there is no secret, or one is too short.
   */
  constructor(secrets: readonly (string | Uint8Array)[] = [processSecret], server = '') {
    const keys = secrets.map((secret, index) => deriveKey(secret, index, server));
    const [current] = keys;
    if (current === undefined) throw new TypeError('secrets must hold at least one secret, or be left out');
    this.#current = current;
    for (const key of keys) this.#ring.set(key.head.toString('latin1'), key);
  }

  /**
   * Seal `payload`, which is JSON, for `ttlMs` milliseconds (default 10 minutes).
   *
   * @throws {RangeError} if the state would be longer than 65,536 characters.
   */
  seal(payload: unknown, binding: Binding, ttlMs = defaultTtlMs): string {
    const { head, key } = this.#current;
    const iv = randomBytes(ivLength);
    const cipher = createCipheriv(cipherName, key, iv, { authTagLength: tagLength });
    cipher.setAAD(additionalData(head, binding));
    const sealed = cipher.update(JSON.stringify([Date.now() + ttlMs, payload]), 'utf8');
    const state = Buffer.concat([head, iv, sealed, cipher.final(), cipher.getAuthTag()]).toString('base64url');
    if (state.length > maxStateLength) {
      throw new RangeError(`requestState would have ${state.length} characters, and ${maxStateLength} is the most`);
    }
    return state;
  }

  /**
   * Open what {@link seal} made. "invalid" is everything that was not sealed as it stands for this binding; "unknown-key"
   * well-formed, but of a secret that is not in the ring.
   */
  open(state: string, binding: Binding): { payload: unknown } | 'expired' | 'unknown-key' | 'invalid' {
    if (state.length > maxStateLength) return 'invalid';
    const bytes = Buffer.from(state, 'base64url');
    // Node's decoder skips what it does not know: only a round trip proves that the string is the one that was made.
    if (bytes.toString('base64url') !== state) return 'invalid';
    if (bytes.length < headLength + ivLength + tagLength || bytes[0] !== version) return 'invalid';
    const known = this.#ring.get(bytes.toString('latin1', 0, headLength));
    if (known === undefined) return 'unknown-key';

    const text = decrypt(known, bytes, binding);
    if (text === undefined) return 'invalid';
    const [expiresAt, payload] = JSON.parse(text) as [number, unknown]; // as seal wrote it: the tag was right
    return Date.now() < expiresAt ? { payload } : 'expired';
  }
}

/**
 * Nonces of approvals that were used, each until it expires: `limit` at most, and none gives way to a new one.
 */
export class SpentNonces {
  /** Nonce → time of expiry. In order of expiry as long as all live equally long. */
  readonly #expiries = new Map<string, number>();
  #sweptAt = 0;

  constructor(readonly limit = 100_000) {}

  /**
   * Spend `nonce`, which expires at `expiresAt` (milliseconds since the epoch). False when it must not be used: it is
   * spent or expired already, or there is no room to remember it.
   */
  spend(nonce: string, expiresAt: number): boolean {
    const now = Date.now();
    // An expired one may have been forgotten; `!(<)` refuses NaN too.
    if (!(now < expiresAt) || this.#expiries.has(nonce)) return false;
    this.#forgetExpired(now);
    if (this.#expiries.size >= this.limit) return false;
    this.#expiries.set(nonce, expiresAt);
    return true;
  }

  #forgetExpired(now: number): void {
    for (const [nonce, expiresAt] of this.#expiries) {
      if (now < expiresAt) break;
      this.#expiries.delete(nonce);
    }
    // Full behind one that lives longer than the rest: look at all, once a second at most.
    if (this.#expiries.size < this.limit || now - this.#sweptAt < 1_000) return;
    this.#sweptAt = now;
    for (const [nonce, expiresAt] of this.#expiries) {
      if (now >= expiresAt) this.#expiries.delete(nonce);
    }
  }
}

function deriveKey(secret: string | Uint8Array, index: number, server: string): Key {
  const bytes = typeof secret === 'string' ? Buffer.from(secret, 'utf8') : secret;
  if (!(bytes instanceof Uint8Array) || bytes.length < minSecretLength) {
    throw new TypeError(`secrets[${index}] must be a string or Uint8Array of ${minSecretLength} bytes or more`);
  }
  const derive = (purpose: string, length: number): Buffer =>
    Buffer.from(hkdfSync('sha256', bytes, server, `express-mcp requestState ${purpose}`, length));
  return {
    head: Buffer.concat([Buffer.of(version), derive('key id', keyIdLength)]),
    key: createSecretKey(derive('key', 32)),
  };
}

function decrypt({ head, key }: Key, bytes: Buffer, binding: Binding): string | undefined {
  const iv = bytes.subarray(headLength, headLength + ivLength);
  const decipher = createDecipheriv(cipherName, key, iv, { authTagLength: tagLength });
  decipher.setAAD(additionalData(head, binding));
  decipher.setAuthTag(bytes.subarray(-tagLength));
  const opened = decipher.update(bytes.subarray(headLength + ivLength, -tagLength));
  try {
    return Buffer.concat([opened, decipher.final()]).toString('utf8');
  } catch {
    return undefined; // final throws for a wrong tag only
  }
}

function additionalData(head: Buffer, { principal, method, name, args }: Binding): Buffer {
  const bound = canonicalJson([principal ?? null, method, name, args]);
  return Buffer.concat([head, createHash('sha256').update(bound).digest()]);
}
