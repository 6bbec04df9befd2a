/** What happens to sessions in Redis in one step each. Times are Redis's own, so that clocks of nodes do not matter. */
import { script } from './connection';

/**
 * Take a place for a session: in all, and of its principal. Places leave by themselves when their session's time is up.
 * KEYS: notices' counter, all places, one principal's places.
 * ARGV: id, idleMs, evictableAfterMs, limit in all, limit per principal.
 * Returns: 1 or 0, the last notice, sessions that made room.
 */
export const takePlace = script(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local idle, evictable = tonumber(ARGV[2]), tonumber(ARGV[3])
local reply = { 1, tonumber(redis.call('GET', KEYS[1]) or '0') }
local evicted = {}
for i = 3, 2, -1 do
  local key = KEYS[i]
  if key then
    redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
    local surplus = redis.call('ZCARD', key) - tonumber(ARGV[i + 2]) + 1
    if i == 2 then surplus = surplus - #evicted end
    if surplus > 0 then
      local oldest = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
      if surplus > 1 or tonumber(oldest[2]) - idle > now - evictable then return { 0, reply[2] } end
      evicted[#evicted + 1] = oldest[1]
    end
  end
end
for _, id in ipairs(evicted) do
  for i = 2, #KEYS do redis.call('ZREM', KEYS[i], id) end
  reply[#reply + 1] = id
end
for i = 2, #KEYS do
  redis.call('ZADD', KEYS[i], now + idle, ARGV[1])
  redis.call('PEXPIRE', KEYS[i], idle + 1000)
end
return reply
`);

/** Keep a place for longer. KEYS: all places, the principal's. ARGV: id, idleMs. */
export const keepPlace = script(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for i = 1, #KEYS do
  local till = redis.call('ZSCORE', KEYS[i], ARGV[1])
  if till and tonumber(till) > now then
    redis.call('ZADD', KEYS[i], now + tonumber(ARGV[2]), ARGV[1])
    redis.call('PEXPIRE', KEYS[i], tonumber(ARGV[2]) + 1000)
  end
end
return 1
`);

/** Leave a place. KEYS: all places, the principal's. ARGV: id. */
export const leavePlace = script(`
for i = 1, #KEYS do redis.call('ZREM', KEYS[i], ARGV[1]) end
return 1
`);

/** Keep a new session. KEYS: the session. ARGV: idleMs, field, value, … */
export const createSession = script(`
for i = 2, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
`);

/**
 * Keep a change, and tell the node that holds the session's stream. An ended session stays ended.
 * KEYS: the session. ARGV: prefix of the nodes' channels, message, number of fields to set, field, value, …, fields to remove.
 */
export const changeSession = script(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local set = tonumber(ARGV[3])
for i = 1, set do redis.call('HSET', KEYS[1], ARGV[2 + 2 * i], ARGV[3 + 2 * i]) end
for i = 4 + 2 * set, #ARGV do redis.call('HDEL', KEYS[1], ARGV[i]) end
local holder = redis.call('HGET', KEYS[1], 'h')
if holder then redis.call('PUBLISH', ARGV[1] .. holder, ARGV[2]) end
return 1
`);

/** End a session, and tell every node. KEYS: the session, its stream's events and state. ARGV: channel, message. Returns its fields. */
export const endSession = script(`
local fields = redis.call('HGETALL', KEYS[1])
if #fields == 0 then return fields end
redis.call('DEL', unpack(KEYS))
redis.call('PUBLISH', ARGV[1], ARGV[2])
return fields
`);

/** KEYS: the session, its stream's events and state. ARGV: idleMs. Returns 0 if it has ended. */
export const touchSession = script(`
for i = 2, #KEYS do redis.call('PEXPIRE', KEYS[i], ARGV[1]) end
return redis.call('PEXPIRE', KEYS[1], ARGV[1])
`);

/** KEYS: the nonce. ARGV: lifetime in milliseconds. Returns 1 the first time only. */
export const spendNonce = script(`
if redis.call('SET', KEYS[1], '1', 'NX', 'PX', ARGV[1]) then return 1 end
return 0
`);
