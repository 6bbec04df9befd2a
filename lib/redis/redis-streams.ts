/** Streams and notices in Redis: what one node does so that all others can go on with it. */
import { ErrorCode, errorResponse } from '../protocol/errors';
import { standaloneStreamId } from '../sessions/session';
import type { SessionEvent, SharedNotice, SharedSettings, SharedStreams, StreamBatch } from '../sessions/shared-store';
import type { Connection } from './connection';
import type { Keys } from './keys';
import { abandonReply, appendStandalone, appendReply, beat, holderOf, holdStream, isBeating } from './stream-scripts';
import { noticesSince, publishNotice, readStream } from './stream-scripts';

/** A node that has shown no sign of life for this long is gone. */
const aliveMs = 6_000;

/** Not away: what is kept under these keys is none of ours, and no further attempt will make it so. */
function isUnreadable(error: unknown): boolean {
  const { cause } = error as { cause?: unknown };
  return cause instanceof Error && /WRONGTYPE|user_script/.test(cause.message);
}

/** @returns `otherwise` where what is kept cannot be read. */
async function readable<T>(reply: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await reply;
  } catch (error) {
    if (isUnreadable(error)) return otherwise;
    throw error;
  }
}

/** How much longer than a finished one the stream of a call is kept whose node says nothing of it. */
const runningMs = 30_000;

/** Latest notices remembered; who has missed more than that hears of the latest only. */
const maxNotices = 10_000;

/** Messages and bytes remembered of what replaces nothing, for sessions whose node has died. */
const maxSaid = 1_000;
const maxSaidBytes = 1024 * 1024;

const idMark = '\u0000';

export function createRedisStreams(
  redis: Connection,
  keys: Keys,
  node: string,
  settings: () => SharedSettings,
): SharedStreams {
  const keysOf = (id: string, streamId: string): [string, string, string] => [
    keys.session(id),
    keys.stream(id, streamId),
    keys.streamState(id, streamId),
  ];

  /** When this node's last sign of life was taken, if it was, and since when none has been missing. */
  let beatAt: number | undefined;
  let steadySince = 0;

  return {
    async appendReply(id, streamId, { events, requestIds, finished }: StreamBatch) {
      const { historyMs, streamLimit, streamBytes } = settings();
      const wake = JSON.stringify({ kind: 'wake', id, streamId });
      const appending = redis.run(appendReply, keysOf(id, streamId), [
        node,
        // One per line: JSON has no line breaks of its own.
        requestIds.map((requestId) => JSON.stringify(requestId)).join('\n'),
        finished ? 1 : 0,
        historyMs + runningMs,
        historyMs,
        streamLimit,
        streamBytes,
        keys.nodeChannel,
        wake,
        ...events.flatMap(({ position, json }) => [position, json]),
      ]);
      const reply = await readable(appending, -1);
      if (reply === -1) return 'ended';
      return reply === -2 ? 'abandoned' : 'told';
    },

    async appendStandalone(id, { events, writer, before }, read, written) {
      const { idleMs, streamLimit, streamBytes } = settings();
      const appending = redis.run(appendStandalone, keysOf(id, standaloneStreamId), [
        node,
        idleMs,
        streamLimit,
        streamBytes,
        read,
        written,
        writer,
        before,
        ...events.flatMap(({ seq, json, mergeKey = '' }) => [seq, json, mergeKey]),
      ]);
      const reply = await readable(appending, -1);
      if (reply === -1) return 'ended';
      return reply === -2 ? 'taken' : toEvents(reply as string[]);
    },

    async hold(id, streamId, after) {
      const { idleMs, streamLimit } = settings();
      const isStandalone = streamId === standaloneStreamId;
      const taken = JSON.stringify({ kind: 'taken', id, streamId, by: node });
      const holding = redis.run(
        holdStream,
        [keys.session(id), keys.streamState(id, streamId)],
        [node, isStandalone ? 1 : 0, idleMs, keys.nodeChannel, taken, after, streamLimit],
      );
      const reply = (await readable(holding, [])) as string[]; // as the script returns it
      if (reply.length === 0) return undefined;
      if (reply.length === 1) return { owner: reply[0]!, notYetTold: true };
      const [owner, finished, last, written, seq, listened] = reply as [string, string, string, string, string, string];
      return {
        owner: owner === '' ? undefined : owner,
        finished: finished === '1',
        last: Number(last),
        written: Number(written),
        seq: Number(seq),
        listened: listened === '1',
      };
    },

    async holder(id, streamId) {
      const reply = await redis.run(holderOf, [keys.streamState(id, streamId)], []);
      return (reply as string | null) ?? undefined;
    },

    async read(id, streamId, after) {
      const [, events, state] = keysOf(id, streamId);
      const reading = redis.run(readStream, [events, state], [after]);
      const [finished, holder, ...rest] = (await readable(reading, ['1', node])) as string[];
      return { finished: finished === '1', isHeld: holder === node, events: toEvents(rest) };
    },

    async abandon(id, streamId, deadNode) {
      const message = 'The process that ran this call has ended; whether the call took effect is not known';
      const text = JSON.stringify(errorResponse(idMark, ErrorCode.InternalError, message));
      const [before, after] = text.split(JSON.stringify(idMark)) as [string, string];
      await redis.run(abandonReply, keysOf(id, streamId), [deadNode, settings().historyMs, before, after]);
    },

    async isAlive(other) {
      if ((await redis.run(isBeating, [keys.node(other)], [])) === 1) return true;
      const now = Date.now();
      // Redis was there all the time, and so was this node: the other was not.
      if (beatAt !== undefined && now - beatAt < aliveMs && now - steadySince >= aliveMs) return false;
      // Nobody may have been able to show a sign of life for as long as one holds; whoever listens lives.
      return (await redis.publish(keys.nodeChannel + other, JSON.stringify({ kind: 'ping' }))) > 0;
    },

    async beat() {
      const last = beatAt;
      beatAt = undefined;
      await redis.run(beat, [keys.node(node)], [aliveMs]);
      beatAt = Date.now();
      if (last === undefined || beatAt - last >= aliveMs) steadySince = beatAt;
    },

    async publish(notice, count) {
      const mark = 0.5;
      const text = JSON.stringify({ kind: 'notice', from: node, seq: mark, notice });
      const [before, ...after] = text.split(`"seq":${mark},`) as [string, ...string[]];
      await redis.run(
        publishNotice,
        [keys.seq, keys.notices, keys.said, keys.saidState, keys.told(node)],
        [
          keys.broadcastChannel,
          `${before}"seq":`,
          `,${after.join(`"seq":${mark},`)}`,
          notice.mergeKey ?? '',
          JSON.stringify(notice),
          maxNotices,
          count,
          maxSaid,
          maxSaidBytes,
          settings().idleMs,
          node,
        ],
      );
    },

    async noticesSince(seq) {
      const kept = [keys.seq, keys.notices, keys.said, keys.saidState];
      const [last, lost, ...rest] = (await redis.run(noticesSince, kept, [seq])) as string[];
      const notices: { seq: number; notice: SharedNotice; from: string }[] = [];
      for (let n = 0; n < rest.length; n += 3)
        notices.push({ notice: JSON.parse(rest[n]!) as SharedNotice, seq: Number(rest[n + 1]), from: rest[n + 2]! });
      notices.sort((a, b) => a.seq - b.seq);
      return { seq: Number(last), lost: Number(lost), notices };
    },
  };
}

function toEvents(flat: readonly string[]): SessionEvent[] {
  const events: SessionEvent[] = [];
  for (let n = 0; n < flat.length; n += 3) {
    const mergeKey = flat[n + 2];
    events.push({ position: Number(flat[n]), json: flat[n + 1]!, mergeKey: mergeKey === '' ? undefined : mergeKey });
  }
  return events;
}
