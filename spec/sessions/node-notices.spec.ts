/** What all nodes tell each other, with a store that can be away, and messages that do not arrive. */
import { UnavailableError } from '../../lib/protocol/errors';
import { NodeNotices } from '../../lib/sessions/node-notices';
import type { SharedNotice } from '../../lib/sessions/shared-store';
import { eventually } from '../support/eventually';

const said = (data: unknown): SharedNotice => ({
  message: { jsonrpc: '2.0', method: 'notifications/message', params: { data } },
});
const changed: SharedNotice = { ...said('changed'), mergeKey: 'tools' };
const dataOf = ({ message }: SharedNotice) => message.params?.data;

/** A store that counts what it is told, as Redis does. */
function createStore() {
  const store = {
    kept: [] as { seq: number; notice: SharedNotice; from: string }[],
    seq: 0,
    away: false,
    /** It does what it is asked to, and does not say so. */
    mute: false,
    told: 0,
    /** The last that is forgotten. */
    lost: 0,
    lookedUp: [] as number[],
    say(notice: SharedNotice, from = 'b') {
      store.seq += 1;
      store.kept.push({ seq: store.seq, notice, from });
      return store.seq;
    },
    async publish(notice: SharedNotice, count: number) {
      if (store.away) throw new UnavailableError('away');
      if (count > store.told) store.say(notice, 'a');
      store.told = Math.max(store.told, count);
      if (store.mute) throw new UnavailableError('no answer in time');
    },
    async noticesSince(seq: number) {
      store.lookedUp.push(seq);
      if (store.away) throw new UnavailableError('away');
      return { seq: store.seq, lost: store.lost, notices: store.kept.filter((notice) => notice.seq > seq) };
    },
  };
  return store;
}

/** Nobody wants to hear this. */
const poison = 'poison';
const refused = new TypeError('cannot be delivered');

describe('Notices of all nodes', () => {
  let store: ReturnType<typeof createStore>;
  let notices: NodeNotices;
  let heard: unknown[];
  let errors: unknown[];
  let prepare: () => Promise<void>;
  let lost: number[];
  beforeEach(() => {
    store = createStore();
    heard = [];
    errors = [];
    prepare = async () => undefined;
    lost = [];
    notices = new NodeNotices({
      streams: store,
      deliver: (_seq, notice) => {
        if (dataOf(notice) === poison) throw refused;
        heard.push(dataOf(notice));
      },
      prepare: () => prepare(),
      onLost: (seq) => lost.push(seq),
      onError: (error) => errors.push(error),
    });
  });
  afterEach(() => notices.end());

  it('are heard as they happen, each once', async () => {
    await notices.catchUp();
    for (const n of [1, 2]) notices.heard(store.say(said(n)), said(n), 'b');
    notices.heard(2, said(2), 'b');
    expect(heard).toEqual([1, 2]);
    expect(store.lookedUp).toEqual([0]);
  });

  it('are looked up where one is missing, and come in order', async () => {
    await notices.catchUp();
    store.say(said(1));
    store.say(said(2));
    notices.heard(store.say(said(3)), said(3), 'b');
    // Heard while the others are looked up.
    notices.heard(store.say(said(4)), said(4), 'b');
    await eventually(() => heard.length === 4);
    expect(heard).toEqual([1, 2, 3, 4]);
  });

  it('are looked up once more when something came too late for the first look', async () => {
    await notices.catchUp();
    const lookUp = store.noticesSince;
    store.noticesSince = async (seq) => {
      const found = await lookUp(seq);
      store.noticesSince = lookUp;
      notices.heard(store.say(said('meanwhile')), said('meanwhile'), 'b');
      return found;
    };
    store.say(said(1));
    notices.heard(store.say(said(2)), said(2), 'b');
    await eventually(() => heard.length === 3);
    expect(heard).toEqual([1, 2, 'meanwhile']);
  });

  it('of before this node began are changes only', async () => {
    store.say(said('old'));
    store.say(changed);
    notices.heard(store.say(said('first heard')), said('first heard'), 'b');
    await eventually(() => heard.length === 2);
    expect(heard).toEqual(['changed', 'first heard']);
  });

  it('are tried for again while the store is away', async () => {
    await notices.catchUp();
    store.away = true;
    store.say(said(1));
    notices.heard(store.say(said(2)), said(2), 'b');
    notices.publish(said('own'));
    await eventually(() => store.lookedUp.length === 2);
    expect(heard).toEqual([]);
    store.away = false;
    await eventually(() => store.seq === 3 && heard.length >= 2);
    expect(heard.slice(0, 2)).toEqual([1, 2]);
  });

  it('are told once, although the store was too late to say that it had heard', async () => {
    store.mute = true;
    notices.publish(said('own'));
    await eventually(() => store.seq === 1);
    store.mute = false;
    notices.publish(said('another'));
    await notices.told;
    expect(store.seq).toBe(2);
    expect(store.kept.filter(({ notice }) => dataOf(notice) === 'own')).toHaveLength(1);
  });

  it('are not told before it is known whom they concern, however often that takes', async () => {
    await notices.catchUp();
    let times = 0;
    prepare = async () => {
      times += 1;
      if (times < 3) throw new UnavailableError('away');
    };
    const caughtUp = notices.catchUp();
    notices.heard(store.say(said(1)), said(1), 'b');
    expect(heard).toEqual([]);
    await caughtUp;
    notices.heard(store.say(said(2)), said(2), 'b');
    expect(heard).toEqual([1, 2]);
  });

  it('that are forgotten before this node has heard them are not left out in silence', async () => {
    Object.assign(store, { seq: 40, lost: 39 });
    await notices.catchUp();
    expect(lost).toEqual([]);
    Object.assign(store, { seq: 50, lost: 40 });
    await notices.catchUp();
    expect(lost).toEqual([]);
    Object.assign(store, { seq: 60, lost: 51 });
    await notices.catchUp();
    expect(lost).toEqual([51]);
  });

  it('go on when the store counts from the start again', async () => {
    store.seq = 40;
    await notices.catchUp();
    Object.assign(store, { seq: 0, kept: [] });
    store.say(said('anew'));
    await notices.catchUp();
    expect(heard).toEqual(['anew']);
  });

  it('are all told but for the one that cannot be, and it is said which', async () => {
    await notices.catchUp();
    notices.heard(store.say(said(poison)), said(poison), 'b');
    for (const text of ['1', poison, '2']) store.say(said(text));
    notices.heard(store.say(said('3')), said('3'), 'b');
    await eventually(() => heard.length === 3);
    expect(heard).toEqual(['1', '2', '3']);
    expect(errors).toEqual([refused, refused]);
    notices.publish({ ...said('huge'), mergeKey: 'x' });
    store.publish = async () => Promise.reject(refused);
    notices.publish(said('cannot be encoded'));
    await notices.told;
    expect(errors).toEqual([refused, refused, refused]);
  });

  it('are not tried for after the end', async () => {
    await notices.catchUp();
    store.away = true;
    notices.publish(said('too late'));
    notices.end();
    store.away = false;
    notices.publish(said('even later'));
    notices.heard(store.say(said(1)) + 1, said(1), 'b');
    await notices.told;
    expect([store.told, store.lookedUp.length, heard]).toEqual([0, 1, []]);
  });

  it('wait in a bounded number, and it is said that one is lost', () => {
    store.away = true;
    for (let n = 0; n <= 1_000; n += 1) notices.publish(said(n));
    expect(errors).toHaveLength(1);
    for (let n = 0; n < 10; n += 1) notices.publish(changed);
    expect(errors).toHaveLength(11);
  });
});
