/** Every feature of a server, used by the clients people use. */
import type { Fixture } from '../support/fixture';
import { closeClients, connect, kinds } from './connect';
import type { Answers, ElicitAnswer, RealClient } from './connect';
import { createClientFixture } from './server';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await createClientFixture();
});
afterEach(closeClients);
afterAll(() => fixture.close());

const text = ({ content }: { content: { text?: string }[] }) => content[0]?.text;

describe.each(kinds)('%s', (kind) => {
  const open = (answers?: Answers): Promise<RealClient> => connect(kind, fixture, answers);

  it('connects, in the era it asks for', async () => {
    const client = await open();
    const modern = kind === 'client 2.x, modern';
    expect([client.era, client.revision]).toEqual(modern ? ['modern', '2026-07-28'] : ['legacy', '2025-11-25']);
    expect(client.sessionId === undefined).toBe(modern);
    expect(client.getServerVersion()).toMatchObject({ name: 'fixture', version: '1.2.3' });
    expect(client.getInstructions()).toBe('For specs.');
  });

  it('lists and calls tools', async () => {
    const client = await open();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('echo');
    expect(text(await client.callTool('echo', { text: 'hello' }))).toBe('hello');
    expect(text(await client.callTool('era'))).toBe(`${client.era} ${client.revision}`);
  });

  it('gets structured results, checked against the schema of the list', async () => {
    const client = await open();
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === 'sum')).toMatchObject({ title: 'Sum', outputSchema: { type: 'object' } });
    expect(await client.callTool('sum', { numbers: [1, 2, 4] })).toMatchObject({ structuredContent: { sum: 7 } });
  });

  it('sees what goes wrong', async () => {
    const client = await open();
    expect(await client.callTool('fails')).toMatchObject({ isError: true, content: [{ text: 'No such city' }] });
    expect(await client.callTool('echo', { text: 1 })).toMatchObject({ isError: true });
    await expect(client.callTool('throws')).rejects.toMatchObject({ code: -32603 });
    // The client 2.x gives the code of older revisions out as the one of its own.
    const code = kind === 'sdk 1.x' ? -32002 : -32602;
    await expect(client.readResource({ uri: 'no://such' })).rejects.toMatchObject({ code });
  });

  it('hears progress', async () => {
    const client = await open();
    const seen: unknown[] = [];
    await client.callTool('progress', {}, { onprogress: (progress) => seen.push(progress) });
    expect(seen).toMatchObject([1, 2, 3].map((step) => ({ progress: step, total: 3, message: `step ${step}` })));
  });

  it('cancels a call, which the tool hears', async () => {
    const client = await open();
    const ended = fixture.ended.length;
    const ran = fixture.ran.length;
    const controller = new AbortController();
    const call = client.callTool('hold', {}, { signal: controller.signal });
    call.catch(() => undefined);
    await fixture.until(() => fixture.ran.length > ran);
    controller.abort('enough');
    await expect(call).rejects.toThrow();
    await fixture.until(() => fixture.ended.length > ended);
    expect(text(await client.callTool('echo', { text: 'still here' }))).toBe('still here');
  });

  it('hears log messages of the level it wants', async () => {
    const client = await open();
    await client.callTool('logs', {}, { logLevel: 'debug' });
    expect(await client.notification('notifications/message')).toMatchObject({
      params: { level: 'debug', data: 'a detail', logger: 'spec' },
    });
    expect(await client.notification('notifications/message')).toMatchObject({ params: { level: 'error' } });
    await client.callTool('logs', {}, { logLevel: 'error' });
    expect(await client.notification('notifications/message')).toMatchObject({
      params: { level: 'error', data: { problem: 'a fault' } },
    });
  });

  it('lists and reads resources', async () => {
    const client = await open();
    const { resources } = await client.listResources();
    expect(resources).toContainEqual(expect.objectContaining({ uri: 'file:///readme.txt', name: 'readme' }));
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates).toContainEqual(expect.objectContaining({ uriTemplate: 'item://{id}' }));
    const { contents } = await client.readResource({ uri: 'item://7' });
    expect(contents).toEqual([{ uri: 'item://7', mimeType: 'text/plain', text: 'Item 7' }]);
  });

  it('lists and gets prompts, with their arguments completed', async () => {
    const client = await open();
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toContain('compose');
    const ref = { type: 'ref/prompt', name: 'compose' } as const;
    const { completion } = await client.complete({ ref, argument: { name: 'language', value: 'g' } });
    expect(completion).toMatchObject({ values: ['german', 'greek'], total: 2, hasMore: false });
    const { messages } = await client.getPrompt({ name: 'compose', arguments: { language: 'greek' } });
    expect(messages).toEqual([{ role: 'user', content: { type: 'text', text: 'Write in greek' } }]);
  });

  it('answers questions for the user, in tools, prompts and resources', async () => {
    const asked: string[] = [];
    const client = await open({
      elicit({ message }): ElicitAnswer {
        asked.push(message);
        if (message.startsWith('Deploy')) return { action: 'accept', content: { ok: true } };
        return { action: 'accept', content: { name: 'Alice' } };
      },
    });
    const answer = await client.callTool('deploy', { env: 'production' });
    expect(JSON.parse(text(answer)!)).toEqual({ action: 'accept', content: { ok: true } });
    const { messages } = await client.getPrompt({ name: 'personal' });
    expect(messages).toMatchObject([{ content: { text: 'I am Alice' } }]);
    const { contents } = await client.readResource({ uri: 'note://private' });
    expect(contents).toMatchObject([{ text: 'For Alice' }]);
    expect(asked).toEqual(['Deploy to production?', 'Who are you?', 'Who are you?']);
  });

  it.each(['decline', 'cancel'] as const)('says no for the user: %s', async (action) => {
    const client = await open({ elicit: () => ({ action }) });
    expect(JSON.parse(text(await client.callTool('deploy', { env: 'production' }))!)).toEqual({ action });
  });

  it('answers for its model and names its roots', async () => {
    const client = await open({
      sample: ({ messages }) => `Of ${messages.length}`,
      roots: () => ['file:///home', 'file:///work'],
    });
    expect(JSON.parse(text(await client.callTool('summarize'))!)).toEqual({ type: 'text', text: 'Of 1' });
    expect(text(await client.callTool('where'))).toBe('file:///home,file:///work');
  });

  it('is told what it would need to be able to answer', async () => {
    const client = await open();
    const call = client.callTool('deploy', { env: 'production' });
    if (client.era === 'modern')
      await expect(call).rejects.toMatchObject({
        code: -32021,
        data: { requiredCapabilities: { elicitation: { form: {} } } },
      });
    else
      expect(await call).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('elicitation') }] });
  });

  it('hears of changed lists and resources', async () => {
    const client = await open();
    await client.hear({
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions: ['file:///readme.txt'],
    });
    const tool = fixture.server.registerTool('late', {}, () => 'late');
    await client.notification('notifications/tools/list_changed');
    expect(text(await client.callTool('late'))).toBe('late');
    tool.remove();
    await client.notification('notifications/tools/list_changed');
    fixture.server.notifyPromptsChanged();
    await client.notification('notifications/prompts/list_changed');
    fixture.server.notifyResourcesChanged();
    await client.notification('notifications/resources/list_changed');
    fixture.server.notifyResourceUpdated('item://1');
    fixture.server.notifyResourceUpdated('file:///readme.txt');
    expect(await client.notification('notifications/resources/updated')).toMatchObject({
      params: { uri: 'file:///readme.txt' },
    });
  });
});
