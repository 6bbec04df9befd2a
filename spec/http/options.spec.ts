/** The options of a mount: checked when it is made, defaulted, and read once. */
import { inspect } from 'node:util';
import { allowAll, McpServer, mcpRouter } from 'express-mcp';
import type { McpRouterOptions } from 'express-mcp';
import { readOptions } from '../../lib/http/options';
import { coreOf } from '../../lib/server';
import { createFixture } from '../support/fixture';
import { modern, textOf } from '../support/wire';

const server = new McpServer({ name: 'options', version: '1.0.0' }, { authorizer: allowAll, readAuthorizer: allowAll });

function mount(options: Record<string, unknown>): unknown {
  return mcpRouter(server, options as McpRouterOptions);
}

const defaults = {
  path: '/',
  serverMessages: true,
  stream: 'auto',
  keepAliveMs: 15_000,
  maxBodyBytes: 4 * 1024 * 1024,
  maxBatch: 100,
  maxSessions: 10_000,
  maxSessionsPerPrincipal: 100,
  sessionIdleMs: 30 * 60 * 1_000,
  inboxLimit: 1_000,
  inboxBytes: 1024 * 1024,
  maxSocketBytes: 1024 * 1024,
  historyLimit: 1_000,
  historyBytes: 1024 * 1024,
  historyMs: 60_000,
  retryMs: 1_000,
  maxStreamAgeMs: Infinity,
  maxStreams: 10_000,
  maxStreamsPerPrincipal: 100,
  maxCalls: 1_000,
  maxCallsPerPrincipal: 100,
  maxCallsPerSession: 100,
  maxParked: 1_000,
  maxParkedPerPrincipal: 16,
  toolTimeoutMs: undefined,
};

const numbers = Object.keys(defaults).filter((option) => /^(max|inbox|history|retry|keep|session|tool)/.test(option));

describe('the defaults', () => {
  it('are those of the documentation', () => {
    expect(readOptions({})).toMatchObject(defaults);
  });

  it.each(Object.keys(defaults))('hold where %s is undefined', (option) => {
    expect(readOptions({ [option]: undefined })).toMatchObject(defaults);
  });

  it.each(['principal', 'sessions', 'onError', 'onReject', 'onSessionEnd', 'onReady', 'logger', 'origins'])(
    'hold where %s is undefined, which throws nothing',
    (option) => {
      expect(() => mount({ [option]: undefined })).not.toThrow();
    },
  );
});

describe('a mistake is thrown at the mount, with option, value and what was meant:', () => {
  it.each(numbers)('%s that is no positive integer', (option) => {
    for (const value of [0, -1, 1.5, Number.NaN, Infinity, '5', null, true, {}, []]) {
      expect(() => mount({ [option]: value })).toThrow(RangeError);
      expect(() => mount({ [option]: value })).toThrow(`mcpRouter: ${option} must be`);
      expect(() => mount({ [option]: value })).toThrow(`, got ${inspect(value)}`);
    }
  });

  it.each(numbers.filter((option) => option.endsWith('Ms')))('%s beyond what a timer can count', (option) => {
    expect(() => mount({ [option]: 2 ** 31 })).toThrow(`${option} must be whole milliseconds from 1 to`);
    expect(() => mount({ [option]: 2 ** 31 - 1 })).not.toThrow();
  });

  it.each<[string, unknown, string]>([
    ['path', 'mcp', 'mcpRouter: path must start with "/", got "mcp"'],
    ['path', 5, 'mcpRouter: path must start with "/", got 5'],
    ['path', '', 'mcpRouter: path must start with "/", got ""'],
    ['stream', 'never', `mcpRouter: stream must be 'auto' or 'always', got "never"`],
    ['stream', true, `mcpRouter: stream must be 'auto' or 'always', got true`],
    ['serverMessages', 'no', 'mcpRouter: serverMessages must be true or false, got "no"'],
    ['serverMessages', 0, 'mcpRouter: serverMessages must be true or false, got 0'],
    ['principal', 'alice', 'mcpRouter: principal must be a function, got string'],
    ['onError', {}, 'mcpRouter: onError must be a function, got object'],
    ['onReject', true, 'mcpRouter: onReject must be a function, got boolean'],
    ['onSessionEnd', 'log', 'mcpRouter: onSessionEnd must be a function, got string'],
    ['onReady', 5, 'mcpRouter: onReady must be a function, got number'],
    ['sessions', new Map(), 'mcpRouter: sessions must have the methods create, update'],
    ['sessions', null, 'mcpRouter: sessions must have the methods create, get, update, delete'],
    ['logger', { info() {} }, 'mcpRouter: logger must have the methods warn, error'],
    ['logger', console.log, 'mcpRouter: logger must have the methods info, warn, error'],
    ['origins', ['localhost'], 'origins: "localhost" is not an origin'],
    ['allowedHosts', ['https://x'], 'allowedHosts: "https://x" is not a host'],
  ])('%s: %p', (option, value, message) => {
    expect(() => mount({ [option]: value })).toThrow(TypeError);
    expect(() => mount({ [option]: value })).toThrow(message);
  });

  it.each([undefined, null, {}, 'server', class McpServer {}])('a server that is none: %p', (value) => {
    expect(() => mcpRouter(value as never)).toThrow(
      new TypeError('mcpRouter(server): server must be an McpServer of this package'),
    );
  });

  it('and the mount that was not made leaves nothing on the server', () => {
    const { listeners } = coreOf(server);
    const before = listeners.size;
    for (const options of [{ origins: ['nonsense'] }, { maxCalls: 0 }]) expect(() => mount(options)).toThrow();
    expect(listeners.size).toBe(before);
  });
});

describe('the options object', () => {
  it('is not looked at again: what becomes of it later changes nothing', async () => {
    const principal = () => 'carol';
    const router: McpRouterOptions = { principal, maxCalls: 5, origins: ['https://app.example'] };
    const fixture = await createFixture({ router });
    Object.assign(router, { principal: () => 'eve', maxCalls: 0, path: '/other' });
    (router.origins as string[]).push('https://evil.example');
    const client = modern(fixture);
    expect(textOf(await client.callTool('caller'))).toBe('carol');
    const evil = await client.callTool('caller', {}, { headers: { Origin: 'https://evil.example' } });
    expect(evil.status).toBe(403);
    await fixture.close();
  });

  it('may be frozen', () => {
    expect(() => mount(Object.freeze({ maxCalls: 5 }))).not.toThrow();
  });
});
