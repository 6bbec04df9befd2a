/** What happens to sessions in Redis in one step each. Times are Redis's own, so that clocks of nodes do not matter. */
import { script } from './connection';

/**
 * Take a place for a session that is being opened: in all, and of its principal, for as long as that may take. Its time has
 * a fraction until it is kept. A place whose time is up counts for nothing; those in all stay until a node has told of
 * their end.
 * KEYS: notices' counter, all places, principals by session, one principal's places.
 * ARGV: id, idleMs, evictableAfterMs, limit in all, limit per principal, the principal, how long to wait for a node, how
 * long opening takes.
 * Returns: 1 or 0, the last notice, sessions that made room.
 */
export const takePlace = script(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local idle, evictable = tonumber(ARGV[2]), tonumber(ARGV[3])
local reply = { 1, tonumber(redis.call('GET', KEYS[1]) or '0') }
local places = { KEYS[2], KEYS[4] }
local evicted = {}
for i = #places, 1, -1 do
  local surplus = redis.call('ZCOUNT', places[i], '(' .. now, '+inf') - tonumber(ARGV[i + 3]) + 1
  if i == 1 then surplus = surplus - #evicted end
  if surplus > 0 then
    local oldest = redis.call('ZRANGE', places[i], '(' .. now, '+inf', 'BYSCORE', 'LIMIT', 0, 100, 'WITHSCORES')
    local n = 1
    while oldest[n] and tonumber(oldest[n + 1]) % 1 > 0 do n = n + 2 end
    if surplus > 1 or not oldest[n] or tonumber(oldest[n + 1]) - idle > now - evictable then return { 0, reply[2] } end
    evicted[#evicted + 1] = oldest[n]
  end
end
-- Where memory is full this fails, and nothing has been done.
for _, key in ipairs(places) do redis.call('ZADD', key, now + ARGV[8] + 0.5, ARGV[1]) end
for _, id in ipairs(evicted) do
  -- Should nobody come to end it, it gets its place back, as one that lives on.
  redis.call('ZADD', KEYS[2], -now, id)
  if KEYS[4] then redis.call('ZREM', KEYS[4], id) end
  reply[#reply + 1] = id
end
redis.call('PEXPIRE', KEYS[2], idle + ARGV[7])
if KEYS[4] then
  redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', now)
  redis.call('PEXPIRE', KEYS[4], idle + 1000)
  redis.call('HSET', KEYS[3], ARGV[1], ARGV[6])
  redis.call('PEXPIRE', KEYS[3], idle + ARGV[7])
end
return reply
`);

/**
 * Keep a place for longer. KEYS: all places, principals by session, one principal's. ARGV: id, idleMs, how long to wait for
 * a node. Returns 0 if it was not there any more.
 */
export const keepPlace = script(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('PEXPIRE', KEYS[2], ARGV[2] + ARGV[3])
local kept = 1
for _, key in ipairs({ KEYS[1], KEYS[3] }) do
  redis.call('PEXPIRE', key, ARGV[2] + (key == KEYS[1] and ARGV[3] or 1000))
  local till = redis.call('ZSCORE', key, ARGV[1])
  if till and tonumber(till) > now then redis.call('ZADD', key, now + ARGV[2], ARGV[1]) else kept = 0 end
end
return kept
`);

/** Leave a place. KEYS: all places, principals by session, one principal's. ARGV: id. Returns whose it was, if it was somebody's. */
export const leavePlace = script(`
local principal = redis.call('HGET', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
if KEYS[3] then redis.call('ZREM', KEYS[3], ARGV[1]) end
return principal
`);

/**
 * Places whose time is up are one node's to look after, for a while: their score is then the time of this, negative.
 * KEYS: all places. ARGV: how many at most, for how long.
 */
export const claimIdle = script(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local found = redis.call('ZRANGE', KEYS[1], '(' .. (ARGV[2] - now), now, 'BYSCORE', 'LIMIT', 0, ARGV[1], 'WITHSCORES')
local ids = {}
for i = 1, #found, 2 do
  ids[#ids + 1] = found[i]
  redis.call('ZADD', KEYS[1], -now - tonumber(found[i + 1]) % 1, found[i])
end
return ids
`);

/** How much longer a session lives, in milliseconds. KEYS: the session. */
export const lifeLeft = script(`return redis.call('PTTL', KEYS[1])`);

/**
 * Give up the places of sessions that have ended; the first to do so tells of it, unless they were never opened. Others may
 * have lost theirs while they lived on, and get it back.
 * KEYS: all places, principals by session. ARGV: id, how much longer it lives, …
 * Returns: id and principal or '' of each that has ended, …
 */
export const leaveIdle = script(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ended = {}
for i = 1, #ARGV, 2 do
  local id, left = ARGV[i], tonumber(ARGV[i + 1])
  local score = redis.call('ZSCORE', KEYS[1], id)
  local opening = score and tonumber(score) % 1
  if score and left > 0 then
    redis.call('ZADD', KEYS[1], now + left + opening, id)
  elseif score then
    if opening == 0 then
      ended[#ended + 1] = id
      ended[#ended + 1] = redis.call('HGET', KEYS[2], id) or ''
    end
    redis.call('ZREM', KEYS[1], id)
    redis.call('HDEL', KEYS[2], id)
  end
end
return ended
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

/**
 * End a session, and tell every node. KEYS: the session, its stream's events and state, and what else goes with it.
 * ARGV: channel, message. Returns its fields.
 */
export const endSession = script(`
local fields = redis.pcall('HGETALL', KEYS[1])
if fields.err then
  -- None of ours, and gone with the rest.
  fields = { '', '' }
elseif #fields == 0 then
  return fields
end
redis.call('DEL', unpack(KEYS))
redis.call('PUBLISH', ARGV[1], ARGV[2])
return fields
`);

/** KEYS: the session, its stream's events and state. ARGV: idleMs, the node's time. Returns 0 if it has ended. */
export const touchSession = script(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
-- Where memory is full a script may begin with this, and what it has begun it may end.
for i = 1, #KEYS do redis.call('PEXPIRE', KEYS[i], ARGV[1]) end
redis.call('HSET', KEYS[1], 't', ARGV[2])
return 1
`);

/**
 * Once it may have been forgotten that a nonce was used, it is refused, whatever the clock of the node says.
 * KEYS: the nonce. ARGV: until when it is remembered. Returns 1 the first time only.
 */
export const spendNonce = script(`
local time = redis.call('TIME')
if time[1] * 1000 + math.floor(time[2] / 1000) >= tonumber(ARGV[1]) then return 0 end
if redis.call('SET', KEYS[1], '1', 'NX', 'PXAT', ARGV[1]) then return 1 end
return 0
`);
