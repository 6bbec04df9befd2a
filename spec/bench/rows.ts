/** All rows, in the order of the table. */
import type { Row } from './row';
import { callRows, otherRows } from './rows/calls';
import { memoryRows } from './rows/memory';
import { messageRows } from './rows/messages';
import { redisRows } from './rows/redis';
import { startRows } from './rows/start';
import { streamRows } from './rows/streams';

export const rows: readonly Row[] = [
  ...callRows,
  ...messageRows,
  ...memoryRows,
  ...streamRows,
  ...startRows,
  ...redisRows,
  ...otherRows,
];
