/** `express-mcp/redis`: sessions shared by many processes. */
export { redisSessions } from './redis-session-store';
export type { RedisSessionsOptions, RedisSessionStore } from './redis-session-store';
export type { RedisClient } from './connection';
