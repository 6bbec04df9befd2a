/** Bodies that the host's own parser has read before the endpoint sees the request. */
import express from 'express';
import type { RequestHandler } from 'express';
import express4 from 'express4';
import { connect, eras } from '../support/eras';
import { createFixture } from '../support/fixture';
import type { FixtureOptions } from '../support/fixture';
import { initializeMessage, post } from '../support/wire';

const parsers = (app: typeof express): [string, RequestHandler[]][] => [
  ['nothing', []],
  ['express.json()', [app.json()]],
  ['express.json({ strict: false, type: "*/*" })', [app.json({ strict: false, type: '*/*' })]],
  ['express.text({ type: "*/*" })', [app.text({ type: '*/*' })]],
  ['express.raw({ type: "*/*" })', [app.raw({ type: '*/*' })]],
  ['parsers of other types', [app.urlencoded({ extended: false }), app.text(), app.raw()]],
];

const expresses: [string, typeof express][] = [
  ['Express 5', express],
  ['Express 4', express4],
];

/** Run `body` against a fixture of its own. */
async function within(
  options: FixtureOptions,
  body: (fixture: Awaited<ReturnType<typeof createFixture>>) => Promise<void>,
) {
  const fixture = await createFixture(options);
  try {
    await body(fixture);
  } finally {
    await fixture.close();
  }
}

describe.each(expresses)('%s', (_version, app) => {
  describe.each(parsers(app))('behind %s', (_name, before) => {
    it.each(eras)('%s calls get the answers they get behind nothing', async (era) => {
      await within({ express: app, before }, async (fixture) => {
        const client = await connect(era, fixture);
        const text = 'é\u2028"\\ \u{1f600}';
        const reply = await client.callTool('echo', { text }, { id: 'same' });
        expect(reply.status).toBe(200);
        expect(reply.response?.id).toBe('same');
        expect(reply.response?.result?.content).toEqual([{ type: 'text', text }]);
        expect((await client.notify('notifications/cancelled', { requestId: 1 })).status).toBe(202);
        expect((await client.post([])).json?.error?.code).toBe(-32600);
      });
    });
  });
});

describe('behind a parser', () => {
  it.each([
    ['express.text', express.text({ type: '*/*' })],
    ['express.raw', express.raw({ type: '*/*' })],
  ])('%s, broken JSON answers 400 with -32700', async (_name, parser) => {
    await within({ before: [parser] }, async ({ url }) => {
      const reply = await post(url, '{"jsonrpc":"2.0","method":"tools/list""');
      expect(reply.status).toBe(400);
      expect(reply.json?.error?.code).toBe(-32700);
    });
  });

  it.each(eras)('of loose JSON, a %s value that is no message answers 400 with -32600', async (era) => {
    await within({ before: [express.json({ strict: false })] }, async (fixture) => {
      const client = await connect(era, fixture);
      for (const body of ['42', '"x"', 'true', 'false', '0', '""', 'null']) {
        const reply = await client.post(body);
        expect([body, reply.status, reply.json?.error?.code]).toEqual([body, 400, -32600]);
      }
    });
  });

  it('of JSON, a number that the parser rounded is not answered under a wrong id', async () => {
    await within({ before: [express.json()] }, async ({ url }) => {
      const body = JSON.stringify({ ...initializeMessage(), id: 0 }).replace('"id":0', '"id":9007199254740993');
      const reply = await post(url, body);
      expect(reply.status).toBe(400);
      expect(reply.json?.error?.code).toBe(-32600);
    });
  });

  it('a body the host has let through is not limited again', async () => {
    await within({ before: [express.json({ limit: '1mb' })], router: { maxBodyBytes: 1_000 } }, async (fixture) => {
      const client = await connect('modern', fixture);
      const reply = await client.callTool('echo', { text: 'x'.repeat(10_000) });
      expect(reply.response?.result?.isError).toBeUndefined();
    });
  });

  it('an empty body answers 400, whatever the parser left behind', async () => {
    for (const app of [express, express4]) {
      for (const [name, before] of parsers(app)) {
        await within({ express: app, before }, async ({ url }) => {
          const reply = await post(url, '');
          expect([name, reply.status]).toEqual([name, 400]);
        });
      }
    }
  });
});

describe('behind a middleware that has read the body and kept it', () => {
  it.each(eras)('a %s request is answered with an error, and the host hears why', async (era) => {
    let hungry = false;
    const eat: RequestHandler = (req, _res, next) => {
      if (!hungry) return next();
      req.on('end', () => next()).resume();
    };
    await within({ before: [eat] }, async (fixture) => {
      const client = await connect(era, fixture);
      hungry = true;
      const reply = await client.post(client.message('tools/list'), { validate: false });
      expect(reply.status).toBe(500);
      expect(reply.json?.error?.code).toBe(-32603);
      expect(fixture.errors).toHaveLength(1);
    });
  });
});
