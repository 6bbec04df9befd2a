import fc from 'fast-check';
import { RequestStates, SpentNonces } from '../lib/request-state';
import type { Binding } from '../lib/request-state';

const first = 'first secret, of thirty-two bytes';
const second = 'second secret, 32 bytes or longer';
const binding: Binding = {
  principal: 'alice',
  method: 'tools/call',
  name: 'deploy',
  args: { env: 'staging', dry: false },
};

afterEach(() => {
  jest.useRealTimers();
});

// https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
describe('RequestStates', () => {
  const states = new RequestStates([first]);

  it('opens what it sealed', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (payload, args) => {
        const state = states.seal(payload, { ...binding, args });
        expect(states.open(state, { ...binding, args })).toEqual({ payload: JSON.parse(JSON.stringify(payload)) });
      }),
    );
  });

  it('seals the same payload differently each time, and does not show it', () => {
    const [a, b] = [states.seal('a plain secret', binding), states.seal('a plain secret', binding)];
    expect(a).not.toBe(b);
    expect(a).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(Buffer.from(a, 'base64url').includes('plain')).toBe(false);
  });

  it('never opens a state with a changed character', () => {
    const state = states.seal({ approved: true }, binding);
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=. \u00e9';
    fc.assert(
      fc.property(fc.nat(state.length - 1), fc.constantFrom(...alphabet), (index, character) => {
        fc.pre(state[index] !== character);
        const changed = state.slice(0, index) + character + state.slice(index + 1);
        expect(['invalid', 'unknown-key']).toContain(states.open(changed, binding));
      }),
      { numRuns: 2_000 },
    );
  });

  it('never opens a state with something added or missing', () => {
    const state = states.seal('x', binding);
    for (const suffix of ['-TAMPERED', 'A', 'AAAA', '=', '==', ' ', '\n', '.', state]) {
      expect(states.open(state + suffix, binding)).toBe('invalid');
      expect(['invalid', 'unknown-key']).toContain(states.open(suffix + state, binding));
    }
    for (let length = 0; length < state.length; length += 1) {
      expect(states.open(state.slice(0, length), binding)).toBe('invalid');
    }
  });

  it('refuses every spelling of the same bytes but the canonical one', () => {
    // Of three neighbouring lengths two leave bits over in the last character.
    for (const payload of ['', 'a', 'aa']) {
      const state = states.seal(payload, binding);
      const bytes = Buffer.from(state, 'base64url');
      const spellings = [`${state}=`, `${state.slice(0, 4)}\n${state.slice(4)}`, `${state}.`];
      for (const last of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_') {
        const spelling = state.slice(0, -1) + last;
        if (spelling !== state && Buffer.from(spelling, 'base64url').equals(bytes)) spellings.push(spelling);
      }
      expect(spellings).toHaveLength(3 + [0, 15, 3][bytes.length % 3]!);
      for (const spelling of spellings) expect(states.open(spelling, binding)).toBe('invalid');
      expect(states.open(state, binding)).toEqual({ payload });
    }
  });

  it.each([[''], ['garbage'], ['AQ'], ['A'.repeat(100)], ['é'.repeat(50)], ['{"a":1}']])(
    'calls %j invalid',
    (state) => {
      expect(states.open(state, binding)).toBe('invalid');
    },
  );

  it.each<[string, Binding]>([
    ['principal', { ...binding, principal: 'bob' }],
    ['principal (none)', { ...binding, principal: undefined }],
    ['principal ("null")', { ...binding, principal: 'null' }],
    ['method', { ...binding, method: 'prompts/get' }],
    ['name', { ...binding, name: 'deploy2' }],
    ['arguments', { ...binding, args: { env: 'production', dry: false } }],
    ['arguments (fewer)', { ...binding, args: { env: 'staging' } }],
    ['arguments (none)', { ...binding, args: {} }],
  ])('opens for no other %s', (_, other) => {
    expect(states.open(states.seal('x', binding), other)).toBe('invalid');
    expect(states.open(states.seal('x', other), binding)).toBe('invalid');
  });

  it('opens when the arguments came in another order', () => {
    const state = states.seal('x', binding);
    expect(states.open(state, { ...binding, args: { dry: false, env: 'staging' } })).toEqual({ payload: 'x' });
  });

  it('is bound by arguments of any depth', () => {
    const args = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)) as unknown;
    expect(states.open(states.seal('x', { ...binding, args }), { ...binding, args })).toEqual({ payload: 'x' });
  });

  it.each([
    [undefined, 600_000],
    [1_000, 1_000],
  ])('with a life of %j ms opens until %i ms have passed', (ttlMs, life) => {
    jest.useFakeTimers({ now: 1_000_000 });
    const state = states.seal('x', binding, ttlMs);
    jest.setSystemTime(1_000_000 + life - 1);
    expect(states.open(state, binding)).toEqual({ payload: 'x' });
    jest.setSystemTime(1_000_000 + life);
    expect(states.open(state, binding)).toBe('expired');
    expect(states.open(state, { ...binding, name: 'other' })).toBe('invalid');
  });

  it.each([[0], [-1], [Number.NaN], [Number.POSITIVE_INFINITY]])('does not open with a life of %j ms', (ttlMs) => {
    expect(states.open(states.seal('x', binding, ttlMs), binding)).toBe('expired');
  });

  it('seals with the first secret and opens with all', () => {
    const rotated = new RequestStates([second, first]);
    expect(rotated.open(states.seal('x', binding), binding)).toEqual({ payload: 'x' });
    expect(states.open(rotated.seal('x', binding), binding)).toBe('unknown-key');
    expect(new RequestStates([second]).open(states.seal('x', binding), binding)).toBe('unknown-key');
  });

  it('takes a string and its UTF-8 bytes for the same secret', () => {
    const bytes = new RequestStates([new TextEncoder().encode(first)]);
    expect(bytes.open(states.seal('x', binding), binding)).toEqual({ payload: 'x' });
  });

  it('keeps the states of two servers apart, though the secret is one', () => {
    const [staging, production] = [new RequestStates([first], 'staging'), new RequestStates([first], 'production')];
    expect(production.open(staging.seal('x', binding), binding)).toBe('unknown-key');
    expect(new RequestStates([first], 'staging').open(staging.seal('x', binding), binding)).toEqual({ payload: 'x' });
  });

  it('without secrets opens what any other without secrets in this process sealed', () => {
    const state = new RequestStates().seal('x', binding);
    expect(new RequestStates(undefined).open(state, binding)).toEqual({ payload: 'x' });
    expect(states.open(state, binding)).toBe('unknown-key');
  });

  it.each<[string, readonly (string | Uint8Array)[]]>([
    ['an empty ring', []],
    ['a string of 31 bytes', ['x'.repeat(31)]],
    ['a short one behind a good one', [first, 'short']],
    ['31 bytes', [new Uint8Array(31)]],
    ['something else', [undefined as unknown as string]],
    ['an array', [Array(32).fill(1) as unknown as Uint8Array]],
  ])('throws a TypeError at construction for %s', (_, secrets) => {
    expect(() => new RequestStates(secrets)).toThrow(TypeError);
    expect(() => new RequestStates(secrets)).toThrow(/secrets/);
  });

  it('counts the bytes of a secret, not its characters', () => {
    expect(() => new RequestStates(['é'.repeat(16)])).not.toThrow();
  });

  it('seals up to 65,536 characters, and throws a RangeError beyond', () => {
    const overhead = Buffer.from(states.seal('', binding), 'base64url').length;
    const fits = 'x'.repeat(49_152 - overhead);
    const state = states.seal(fits, binding);
    expect(state).toHaveLength(65_536);
    expect(states.open(state, binding)).toEqual({ payload: fits });
    expect(() => states.seal(`${fits}x`, binding)).toThrow(RangeError);
  });

  it('calls a longer state invalid before any work', () => {
    const decode = jest.spyOn(Buffer, 'from');
    try {
      expect(states.open('A'.repeat(65_537), binding)).toBe('invalid');
      expect(decode).not.toHaveBeenCalled();
    } finally {
      decode.mockRestore();
    }
  });
});

describe('SpentNonces', () => {
  const later = (ms: number): number => Date.now() + ms;

  it('spends a nonce once', () => {
    const nonces = new SpentNonces();
    expect(nonces.spend('a', later(1_000))).toBe(true);
    expect(nonces.spend('a', later(1_000))).toBe(false);
    expect(nonces.spend('b', later(1_000))).toBe(true);
    expect(nonces.spend('__proto__', later(1_000))).toBe(true);
    expect(nonces.spend('__proto__', later(1_000))).toBe(false);
  });

  it('never spends an expired one, since it may have forgotten it', () => {
    const nonces = new SpentNonces();
    expect(nonces.spend('a', later(0))).toBe(false);
    expect(nonces.spend('a', later(-1))).toBe(false);
    expect(nonces.spend('a', Number.NaN)).toBe(false);
  });

  it('refuses when it is full, and has room again once entries have expired', () => {
    jest.useFakeTimers({ now: 1_000_000 });
    const nonces = new SpentNonces(2);
    expect(nonces.spend('a', later(1_000))).toBe(true);
    expect(nonces.spend('b', later(2_000))).toBe(true);
    expect(nonces.spend('c', later(5_000))).toBe(false);
    jest.setSystemTime(1_001_000);
    expect(nonces.spend('c', later(5_000))).toBe(true);
    expect(nonces.spend('d', later(5_000))).toBe(false);
  });

  it('has room again though the oldest entry outlives the others', () => {
    jest.useFakeTimers({ now: 1_000_000 });
    const nonces = new SpentNonces(2);
    expect(nonces.spend('long', later(60_000))).toBe(true);
    expect(nonces.spend('short', later(1_000))).toBe(true);
    expect(nonces.spend('a', later(60_000))).toBe(false);
    jest.setSystemTime(1_002_000);
    expect(nonces.spend('a', later(60_000))).toBe(true);
    expect(nonces.spend('long', later(60_000))).toBe(false);
  });

  it('remembers 100,000 by default', () => {
    const nonces = new SpentNonces();
    const expiresAt = later(600_000);
    for (let index = 0; index < 100_000; index += 1) nonces.spend(String(index), expiresAt);
    expect(nonces.spend('one more', expiresAt)).toBe(false);
    expect(nonces.spend('0', expiresAt)).toBe(false);
  });

  it('leaves no timer behind', () => {
    jest.useFakeTimers();
    new SpentNonces().spend('a', later(1_000));
    expect(jest.getTimerCount()).toBe(0);
  });
});
