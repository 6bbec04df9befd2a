/** What happens to streams in Redis in one step each. Nothing is kept for a session that has ended. */
import { script } from './connection';

/** Forget the oldest events until the rest fits, but for so many. Needs: events, length, bytes, limit, most, spared. */
const trim = `
local trimmed
while length > spared and (length > limit or bytes > most) do
  local oldest = redis.call('XRANGE', events, '-', '+', 'COUNT', 1)[1]
  redis.call('XDEL', events, oldest[1])
  bytes = bytes - #oldest[2][2]
  length = length - 1
  trimmed = oldest[1]
end
`;

/** Events after a position as position, text, key, …; needs: reply, events, after. */
const since = `
for _, entry in ipairs(redis.call('XRANGE', events, '(' .. after .. '-0', '+', 'COUNT', 500)) do
  reply[#reply + 1] = string.match(entry[1], '^%d+')
  reply[#reply + 1] = entry[2][2]
  reply[#reply + 1] = entry[2][4]
end
`;

/**
 * The node that runs a call appends to its reply's stream, or says that it still runs. What is there already is not
 * appended twice.
 * KEYS: session, events, state. ARGV: node, ids of the requests, finished (1 or 0), how long it is kept while it runs and
 * after its end, limit, bytes, prefix of nodes' channels, message, position, text, …
 * Returns: -1 the session has ended, -2 the node was taken for dead.
 */
export const appendReply = script(`
local events, state = KEYS[2], KEYS[3]
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('DEL', events, state)
  return -1
end
local finished, abandoned = unpack(redis.call('HMGET', state, 'f', 'x'))
if finished == '1' then return abandoned and -2 or 0 end
local last = tonumber(redis.call('HGET', state, 'p') or '0')
local bytes = tonumber(redis.call('HGET', state, 'b') or '0')
local limit, most = tonumber(ARGV[6]), tonumber(ARGV[7])
for i = 10, #ARGV, 2 do
  local position = tonumber(ARGV[i])
  if position > last then
    redis.call('XADD', events, ARGV[i] .. '-0', 'j', ARGV[i + 1], 'k', '')
    last = position
    bytes = bytes + #ARGV[i + 1]
  end
end
-- A result is never dropped for its size.
local length, spared = redis.call('XLEN', events), 1
${trim}
redis.call('HSET', state, 'o', ARGV[1], 'r', ARGV[2], 'f', ARGV[3], 'p', last, 'b', bytes)
local lifetime = ARGV[3] == '1' and ARGV[5] or ARGV[4]
redis.call('PEXPIRE', events, lifetime)
redis.call('PEXPIRE', state, lifetime)
local holder = redis.call('HGET', state, 'h')
if holder and holder ~= ARGV[1] then redis.call('PUBLISH', ARGV[8] .. holder, ARGV[9]) end
return 1
`);

/**
 * The node that holds a session's standalone stream appends to it, says how far it has written, and reads what it has not.
 * What its writer has appended is not appended twice, nor a notice that is in already.
 * KEYS: session, events, state. ARGV: node, idleMs, limit, bytes, position read, position written, writer, how many of
 * its events are in already, notice's number, text, key, …
 * Returns: -1 ended, -2 held elsewhere, or the events.
 */
export const appendStandalone = script(`
if redis.call('EXISTS', KEYS[1]) == 0 then return -1 end
local events, state = KEYS[2], KEYS[3]
if redis.call('HGET', state, 'h') ~= ARGV[1] then return -2 end
-- A replica that has taken over may know less than the client has seen: positions go on from there.
local last = math.max(tonumber(redis.call('HGET', state, 'p') or '0'), tonumber(ARGV[5]))
local bytes = tonumber(redis.call('HGET', state, 'b') or '0')
local seen = tonumber(redis.call('HGET', state, 'n') or '0')
local writer, count = string.match(redis.call('HGET', state, 'm') or '', '^(%S+) (%d+)$')
local before = tonumber(ARGV[8])
local first = 9 + (writer == ARGV[7] and 3 * math.max(0, tonumber(count) - before) or 0)
for i = first, #ARGV, 3 do
  local seq = tonumber(ARGV[i])
  if seq == 0 or seq > seen then
    last = last + 1
    redis.call('XADD', events, last .. '-0', 'j', ARGV[i + 1], 'k', ARGV[i + 2])
    bytes = bytes + #ARGV[i + 1]
    if seq > seen then seen = seq end
  end
end
local limit, most, length, spared = tonumber(ARGV[3]), tonumber(ARGV[4]), redis.call('XLEN', events), 0
${trim}
redis.call('HSET', state, 'p', last, 'b', bytes, 'n', seen, 'w', ARGV[6], 'm', ARGV[7] .. ' ' .. (before + (#ARGV - 8) / 3))
redis.call('PEXPIRE', events, ARGV[2])
redis.call('PEXPIRE', state, ARGV[2])
local reply, after = {}, ARGV[5]
${since}
return reply
`);

/**
 * Hold a stream from now on; who held it before is told. What has not got as far as the client has seen stays where it is.
 * KEYS: session, state. ARGV: node, 1 for the session's standalone stream, idleMs, prefix of nodes' channels, message, position
 * that the client has seen, messages that a node may have yet to tell.
 * Returns: owner, finished, last position, position written, last notice, 1 if it has been held before; the owner alone,
 * where it has to tell first; or nothing.
 */
export const holdStream = script(`
local state = KEYS[2]
if redis.call('EXISTS', KEYS[1]) == 0 then return {} end
local owner = redis.call('HGET', state, 'o')
if ARGV[2] == '0' and not owner then return {} end
local surplus = tonumber(ARGV[6]) - tonumber(redis.call('HGET', state, 'p') or '0')
if surplus > 0 then
  if ARGV[2] == '1' or surplus > tonumber(ARGV[7]) or redis.call('HGET', state, 'f') == '1' then return {} end
  return { owner }
end
local before = redis.call('HGET', state, 'h')
local known = redis.call('HGET', state, 'n')
local seen = known or redis.call('HGET', KEYS[1], 'q') or '0'
redis.call('HSET', state, 'h', ARGV[1], 'n', seen)
if ARGV[2] == '1' then
  redis.call('HSET', KEYS[1], 'h', ARGV[1])
  redis.call('PEXPIRE', state, ARGV[3])
end
for _, node in ipairs({ owner or '', before or '' }) do
  if node ~= '' and node ~= ARGV[1] then redis.call('PUBLISH', ARGV[4] .. node, ARGV[5]) end
end
local finished, last, written = unpack(redis.call('HMGET', state, 'f', 'p', 'w'))
-- What are no numbers are none of ours, and this says so.
local _ = (last or 0) + (written or 0) + seen
return { owner or '', finished or '0', last or '0', written or '0', seen, known and '1' or '0' }
`);

/** KEYS: state. */
export const holderOf = script(`return redis.call('HGET', KEYS[1], 'h')`);

/** KEYS: events, state. ARGV: position read. Returns: finished, who holds it, and the events. What is forgotten is finished. */
export const readStream = script(`
local state = redis.call('HMGET', KEYS[2], 'f', 'h')
local reply, events, after = { state[1] or '1', state[2] or '' }, KEYS[1], ARGV[1]
${since}
return reply
`);

/**
 * The node that ran a call is gone: its requests are answered by errors, once.
 * KEYS: session, events, state. ARGV: the node, historyMs, text before an id, text after it.
 */
export const abandonReply = script(`
local events, state = KEYS[2], KEYS[3]
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HGET', state, 'f') ~= '0' then return 0 end
if redis.call('HGET', state, 'o') ~= ARGV[1] then return 0 end
local last = tonumber(redis.call('HGET', state, 'p') or '0')
-- What was written and never got here has a position too: the errors come after it.
last = last + 1000000
for id in string.gmatch(redis.call('HGET', state, 'r'), '[^\\n]+') do
  last = last + 1
  redis.call('XADD', events, last .. '-0', 'j', ARGV[3] .. id .. ARGV[4], 'k', '')
end
redis.call('HSET', state, 'f', '1', 'p', last, 'x', '1')
redis.call('PEXPIRE', events, ARGV[2])
redis.call('PEXPIRE', state, ARGV[2])
return 1
`);

/** A count that is lost goes on from the time in milliseconds: what nodes have heard had lower numbers. Needs: the counter. */
const count = `
if redis.call('EXISTS', KEYS[1]) == 0 then
  local time = redis.call('TIME')
  redis.call('SET', KEYS[1], time[1] .. string.format('%03d', math.floor(time[2] / 1000)))
end
`;

/**
 * Tell every node of a notice, and remember it: the latest of each key, and the last of those without. None is told twice.
 * KEYS: counter, latest of each key, the others, their state, how many of this node's have been told.
 * ARGV: channel, message up to the number, message after it, key or '', the notice, how many with a key, which of this
 * node's it is, how many without a key, their bytes, idleMs, node.
 */
export const publishNotice = script(`
if tonumber(ARGV[7]) <= tonumber(redis.call('GET', KEYS[5]) or '0') then return 0 end
redis.call('SET', KEYS[5], ARGV[7], 'PX', 600000)
${count}
local seq = redis.call('INCR', KEYS[1])
if ARGV[4] ~= '' then
  redis.call('ZADD', KEYS[2], seq, ARGV[5])
  redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -1 - tonumber(ARGV[6]))
else
  local events, limit, most = KEYS[3], tonumber(ARGV[8]), tonumber(ARGV[9])
  local before, last = unpack(redis.call('HMGET', KEYS[4], 'b', 'l'))
  if redis.call('EXISTS', events) == 0 then
    -- Their time was up.
    before = 0
    if last then redis.call('HSET', KEYS[4], 't', last) end
  end
  redis.call('XADD', events, seq .. '-0', 'j', ARGV[5], 'n', ARGV[11])
  local length, spared, bytes = redis.call('XLEN', events), 0, tonumber(before or '0') + #ARGV[5]
  ${trim}
  redis.call('HSET', KEYS[4], 'b', bytes, 'l', seq)
  if trimmed then redis.call('HSET', KEYS[4], 't', string.match(trimmed, '^%d+')) end
  redis.call('PEXPIRE', events, ARGV[10])
end
redis.call('PUBLISH', ARGV[1], ARGV[2] .. seq .. ARGV[3])
return seq
`);

/**
 * KEYS: counter, latest of each key, the others, their state. ARGV: a notice's number.
 * Returns: the last number, that of the last without a key that is forgotten, then notices since as text, number, node, …;
 * those with a key first, without their node.
 */
export const noticesSince = script(`
${count}
local lost = redis.call('HGET', KEYS[4], redis.call('EXISTS', KEYS[3]) == 1 and 't' or 'l')
local reply = { redis.call('GET', KEYS[1]), lost or '0' }
for _, part in ipairs(redis.call('ZRANGE', KEYS[2], '(' .. ARGV[1], '+inf', 'BYSCORE', 'WITHSCORES')) do
  reply[#reply + 1] = part
  if #reply % 3 == 1 then reply[#reply + 1] = '' end
end
for _, entry in ipairs(redis.call('XRANGE', KEYS[3], '(' .. ARGV[1] .. '-0', '+')) do
  reply[#reply + 1] = entry[2][2]
  reply[#reply + 1] = string.match(entry[1], '^%d+')
  reply[#reply + 1] = entry[2][4]
end
return reply
`);

/** A sign of life. KEYS: the node. ARGV: how long it holds, in milliseconds. */
export const beat = script(`return redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])`);

/** KEYS: the node. */
export const isBeating = script(`return redis.call('EXISTS', KEYS[1])`);
