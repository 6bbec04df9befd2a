/** What every SessionStore must do, as specs: call it in a file of its own for each store. */
import type { SessionRecord, SessionStore } from '../../lib/sessions/session-store';

/** A record with this id. */
export function createRecord(id: string, changes: Partial<SessionRecord> = {}): SessionRecord {
  return {
    id,
    revision: '2025-11-25',
    principal: undefined,
    clientInfo: { name: 'contract', version: '1.0.0' },
    capabilities: {},
    initialized: false,
    logLevel: undefined,
    subscriptions: [],
    ...changes,
  };
}

/**
 * Run the contract.
 *
 * @param createStore A store without sessions; `another`, where there is such a thing, is a second process's view of it.
 */
export function describeSessionStore(
  name: string,
  createStore: () => Promise<{ store: SessionStore; another?: SessionStore; close?(): Promise<void> }>,
): void {
  describe(`${name} keeps to the contract of a SessionStore:`, () => {
    let store: SessionStore;
    let another: SessionStore;
    let close: (() => Promise<void>) | undefined;
    beforeEach(async () => {
      const created = await createStore();
      ({ store, close } = created);
      another = created.another ?? store;
    });
    afterEach(() => close?.());

    it('a session that was created can be read', async () => {
      const record = createRecord('a', {
        principal: 'alice',
        revision: '2025-03-26',
        clientInfo: { name: 'näme "x"', version: '2', title: 'Title' },
        capabilities: { elicitation: { form: {} }, roots: { listChanged: true } },
        initialized: true,
        logLevel: 'warning',
        subscriptions: ['file:///a', 'item://ü'],
      });
      await store.create(record);
      expect(await another.get('a')).toEqual(record);
    });

    it('what is undefined stays undefined', async () => {
      await store.create(createRecord('a'));
      const record = await another.get('a');
      expect([record?.principal, record?.logLevel]).toEqual([undefined, undefined]);
    });

    it.each(['never created', '', '__proto__', 'constructor', 'a\n', 'x'.repeat(10_000)])(
      'there is no session %j',
      async (id) => {
        await store.create(createRecord('a'));
        expect(await store.get(id)).toBeUndefined();
      },
    );

    it('ids are told apart to the letter', async () => {
      await store.create(createRecord('a', { principal: 'lower' }));
      await store.create(createRecord('A', { principal: 'upper' }));
      expect([(await store.get('a'))?.principal, (await store.get('A'))?.principal]).toEqual(['lower', 'upper']);
    });

    it('a change can be read', async () => {
      const record = createRecord('a');
      await store.create(record);
      await store.update({ ...record, initialized: true, logLevel: 'error', subscriptions: ['file:///b'] });
      expect(await another.get('a')).toMatchObject({
        initialized: true,
        logLevel: 'error',
        subscriptions: ['file:///b'],
      });
    });

    it('a change of one session is none of another', async () => {
      await store.create(createRecord('a'));
      await store.create(createRecord('b'));
      await store.update(createRecord('a', { initialized: true }));
      expect((await another.get('b'))?.initialized).toBe(false);
    });

    it('a session that was deleted is gone, and deleting it again does no harm', async () => {
      await store.create(createRecord('a'));
      await store.create(createRecord('b'));
      await store.delete('a');
      await store.delete('a');
      await store.delete('never created');
      expect([await another.get('a'), (await another.get('b'))?.id]).toEqual([undefined, 'b']);
    });

    it('a change that comes after the end does not bring the session back', async () => {
      const record = createRecord('a');
      await store.create(record);
      await another.delete('a');
      await store.update({ ...record, initialized: true });
      expect(await store.get('a')).toBeUndefined();
      await store.update(createRecord('never created'));
      expect(await store.get('never created')).toBeUndefined();
    });

    it('many at once do not disturb each other', async () => {
      const ids = Array.from({ length: 50 }, (_, n) => `session-${n}`);
      await Promise.all(ids.map((id) => store.create(createRecord(id, { principal: id }))));
      await Promise.all(ids.map((id) => store.update(createRecord(id, { principal: id, initialized: true }))));
      await Promise.all(ids.filter((_, n) => n % 2 === 0).map((id) => store.delete(id)));
      const left = await Promise.all(ids.map((id) => another.get(id)));
      left.forEach((record, n) =>
        expect(record).toEqual(
          n % 2 === 0 ? undefined : createRecord(ids[n]!, { principal: ids[n], initialized: true }),
        ),
      );
    });
  });
}
