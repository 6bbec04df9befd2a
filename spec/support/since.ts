/** What a spec expects of one revision, when it knows since which one something is there. */
import { modernRevision } from './schema';
import type { Revision } from './schema';

/** Is it there, or which of `fields` are? */
export interface Since {
  (first: Revision): boolean;
  (first: Revision, fields: string[]): string[];
}

/** For one revision. Their dates sort as text. */
export function since(revision: Revision): Since {
  return ((first: Revision, fields?: string[]) => {
    const isThere = revision >= first;
    return fields === undefined ? isThere : isThere ? fields : [];
  }) as Since;
}

export const isModern = (revision: Revision): boolean => revision === modernRevision;
export const legacyOnly = (revision: Revision, names: string[]): string[] => (isModern(revision) ? [] : names);
export const modernOnly = (revision: Revision, names: string[]): string[] => (isModern(revision) ? names : []);
