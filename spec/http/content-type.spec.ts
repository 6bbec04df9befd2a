/** Which bodies are read as JSON, by what their sender calls them. */
import express from 'express';
import { connect, eras } from '../support/eras';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { initializeMessage, legacySession, post } from '../support/wire';
import type { Headers } from '../support/wire';

const readable = [
  'application/json',
  'application/json; charset=utf-8',
  'application/json;charset=UTF-8',
  'application/json; charset="utf-8"',
  'application/json ; charset=utf-8',
  'Application/JSON',
  'application/json;',
  'application/json; profile=x; charset=utf-8',
];

/** Types that a page can send without a preflight, and what else is not JSON. */
const baits: Headers[string][] = [
  'text/plain; a=application/json',
  'text/plain;charset=utf-8;application/json',
  'text/plain',
  'application/x-www-form-urlencoded; x=application/json',
  'multipart/form-data; boundary=application/json',
  'application/jsonx',
  'xapplication/json',
  'application/json+x',
  'application/json, text/plain',
  'text/plain, application/json',
  'application/json text/plain',
  '*/*',
  '',
  undefined,
  ['text/plain', 'application/json'],
];

const otherCharsets = ['utf-16', 'utf-16le', 'iso-8859-1', '"utf-16"', 'UTF-32'];

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.ran.splice(0));

describe.each(eras)('POST, %s era', (era) => {
  it.each(readable)('serves Content-Type: %s', async (type) => {
    const client = await connect(era, fixture);
    const reply = await client.request('tools/list', {}, { headers: { 'Content-Type': type } });
    expect(reply.status).toBe(200);
  });

  it.each(baits)('answers 415, and runs nothing, for Content-Type: %j', async (type) => {
    const client = await connect(era, fixture);
    const reply = await client.callTool('destroy', {}, { headers: { 'Content-Type': type } });
    expect(reply.status).toBe(415);
    expect(fixture.ran).toEqual([]);
  });

  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports
  it.each(otherCharsets)('MUST have UTF-8, so answers 415 for charset=%s', async (charset) => {
    const client = await connect(era, fixture);
    const headers = { 'Content-Type': `application/json; charset=${charset}` };
    const reply = await client.callTool('echo', { text: 'a' }, { headers });
    expect(reply.status).toBe(415);
    expect(fixture.ran).toEqual([]);
  });

  it('answers 415 to a notification that is not JSON', async () => {
    const client = await connect(era, fixture);
    const reply = await client.notify('notifications/initialized', {}, { headers: { 'Content-Type': 'text/plain' } });
    expect(reply.status).toBe(415);
  });
});

describe('initialize', () => {
  it.each(readable)('serves Content-Type: %s', async (type) => {
    const reply = await post(fixture.url, initializeMessage(), { 'Content-Type': type });
    expect(reply.status).toBe(200);
  });

  it.each(baits)('opens no session for Content-Type: %j', async (type) => {
    const reply = await post(fixture.url, initializeMessage(), { 'Content-Type': type });
    expect(reply.status).toBe(415);
    expect(reply.headers).not.toHaveProperty('mcp-session-id');
  });
});

describe('a session', () => {
  it('outlives a refused Content-Type', async () => {
    const session = await legacySession(fixture);
    await session.request('ping', undefined, { headers: { 'Content-Type': 'text/plain' } });
    expect((await session.request('ping')).status).toBe(200);
  });
});

describe.each(eras)('behind a parser that reads every type, %s era', (era) => {
  it.each([
    ['express.json', express.json({ type: () => true })],
    ['express.text', express.text({ type: () => true })],
    ['express.raw', express.raw({ type: () => true })],
  ])('%s does not lift the refusal of a bait', async (_name, parser) => {
    const behind = await createFixture({ before: [parser] });
    try {
      const client = await connect(era, behind);
      const headers = { 'Content-Type': 'text/plain; a=application/json' };
      const reply = await client.callTool('destroy', {}, { headers });
      expect(reply.status).toBe(415);
      expect(behind.ran).toEqual([]);
    } finally {
      await behind.close();
    }
  });
});
