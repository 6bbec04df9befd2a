/** The validator has to refuse, or every spec that leans on it proves nothing. */
import { expectValidMessage, legacyRevisions, revisions } from './schema';
import type { Revision } from './schema';

const tools = { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] };
const complete = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
const response = (result: object) => ({ jsonrpc: '2.0', id: 1, result });
const failure = (code: number, data?: unknown) => ({ jsonrpc: '2.0', id: 1, error: { code, message: 'No', data } });

describe('expectValidMessage', () => {
  it.each(revisions)('accepts a list of tools in %s', (revision) => {
    const result = revision === '2026-07-28' ? { ...tools, ...complete } : tools;
    expect(() => expectValidMessage(revision, response(result), { request: 'tools/list' })).not.toThrow();
  });

  it.each(revisions)('refuses a tool without inputSchema in %s', (revision) => {
    const result = { ...complete, tools: [{ name: 'echo' }] };
    expect(() => expectValidMessage(revision, response(result), { request: 'tools/list' })).toThrow('inputSchema');
  });

  it('finds the method of a response by its id, in a batch too', () => {
    const batch = [response({}), { ...response({}), id: 2 }];
    const request = (id: unknown) => (id === 1 ? 'ping' : 'tools/list');
    expect(() => expectValidMessage('2025-03-26', batch, { request })).toThrow('ListToolsResult');
  });

  it.each(legacyRevisions)('accepts an error without id in %s, but not with id null', (revision) => {
    const { jsonrpc, error } = failure(-32700);
    expect(() => expectValidMessage(revision, { jsonrpc, error })).not.toThrow();
    expect(() => expectValidMessage(revision, { jsonrpc, error, id: null })).toThrow('id');
  });

  it.each<[Revision, object, string]>([
    ['2025-11-25', { jsonrpc: '2.0', id: 1.5, result: {} }, 'JSONRPCResultResponse'],
    ['2025-11-25', { jsonrpc: '1.0', id: 1, result: {} }, 'JSONRPCResultResponse'],
    ['2025-11-25', { jsonrpc: '2.0', id: 1, result: {}, error: {} }, 'Neither'],
    ['2025-11-25', [], 'empty batch'],
    ['2025-03-26', { jsonrpc: '2.0', id: 1, method: 'elicitation/create', params: {} }, 'does not send'],
    ['2026-07-28', { jsonrpc: '2.0', id: 1, method: 'ping' }, 'does not send'],
    ['2025-11-25', { jsonrpc: '2.0', method: 'notifications/initialized' }, 'does not send'],
    ['2025-11-25', { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } }, 'progressToken'],
    ['2026-07-28', response({ content: [] }), 'resultType'],
    ['2026-07-28', response({ resultType: 'pending' }), 'resultType'],
    ['2026-07-28', response({ resultType: 'input_required', inputRequests: [] }), 'InputRequiredResult'],
    ['2026-07-28', failure(-32022), 'UnsupportedProtocolVersionError'],
    ['2026-07-28', failure(-32021, {}), 'requiredCapabilities'],
    ['2026-07-28', failure(-32002), 'reserved'],
    ['2025-11-25', failure(-32000), 'reserved'],
    ['2025-06-18', failure(-32042), 'reserved'],
  ])('refuses in %s: %j', (revision, message, why) => {
    expect(() => expectValidMessage(revision, message)).toThrow(why);
  });

  it('leaves codes outside the reserved range to the application', () => {
    expect(() => expectValidMessage('2026-07-28', failure(4001))).not.toThrow();
  });
});
