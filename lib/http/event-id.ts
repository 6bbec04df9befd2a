/** Event ids of a session's streams: they name session, stream and position. */
import type { Session } from '../sessions/session';

/** Enough of the session's id to tell another session's event apart; its client knows the whole. */
const tagLength = 6;

/** What comes before the position. */
export function eventIdPrefix({ record: { id } }: Session, streamId: string): string {
  return `${id.slice(0, tagLength)}.${streamId}.`;
}

/** Where an event id points to, or undefined if this session never gave it. */
export function parseEventId(eventId: string, session: Session): { streamId: string; position: number } | undefined {
  // Ids of `nanoid` have no dot.
  const [tag, streamId, position, ...rest] = eventId.split('.');
  if (tag !== session.record.id.slice(0, tagLength) || streamId === undefined || rest.length > 0) return undefined;
  if (position === undefined || !/^\d{1,15}$/.test(position)) return undefined;
  return { streamId, position: Number(position) };
}
