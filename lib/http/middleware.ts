/** The shape that Connect and Express call. */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** A middleware on plain Node requests: answers, or calls `next`. */
export type Middleware = (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void;
