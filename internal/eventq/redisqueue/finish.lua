-- Ends a batch. Runs after queue.lua.
-- KEYS  1 due, 2 queue, 3 game, 4 taken (zset), 5 the batch (list), 6 seen (zset)
-- ARGV  1 now (ms), 2 to 7 policy as in queue.lua, 8 batch id, 9 how many items were sent,
--       10 attempts that were not made, 11 time to live of the queue (ms), 12 the error or
--       '', 13 '1' to pause the game for it, 14 no attempt before this time (ms), or 0,
--       15 number of counters and 16 of ids to forget, then the counters with their numbers,
--       the ids, and the bundles to requeue, the last bundle first
-- Returns nothing if the batch has ended now or before, 0 if it is not in flight.
local n = redis.call('LINDEX', KEYS[5], 0)
if n == 'ended' then
  return
end
if not n or not redis.call('ZSCORE', KEYS[4], ARGV[8] .. ' ' .. n) then
  return 0
end
local ids_at = 17 + 2 * tonumber(ARGV[15])
local bundles = {unpack(ARGV, ids_at + tonumber(ARGV[16]))}
local sent, requeued = tonumber(ARGV[9]), 0
for _, bundle in ipairs(bundles) do requeued = requeued + tonumber(string.match(bundle, '^%d+')) end
local ended = sent + requeued
for i = 17, ids_at - 1, 2 do ended = ended + tonumber(ARGV[i + 1]) end
if ended ~= tonumber(n) then
  return redis.error_reply('ERR the result covers ' .. ended .. ' items, but the batch has ' .. n)
end

redis.call('ZREM', KEYS[4], ARGV[8] .. ' ' .. n)
redis.call('LTRIM', KEYS[5], 0, 0)
redis.call('LSET', KEYS[5], 0, 'ended')
count('in_flight', -ended)
count('sent', sent)
for i = 17, ids_at - 1, 2 do count(ARGV[i], tonumber(ARGV[i + 1])) end
if tonumber(ARGV[16]) > 0 then
  redis.call('ZREM', KEYS[6], unpack(ARGV, ids_at, ids_at + tonumber(ARGV[16]) - 1))
end
if ARGV[12] ~= '' then
  redis.call('HSET', KEYS[3], 'error', ARGV[12], 'error_at', ARGV[1])
  if ARGV[13] == '1' then redis.call('HSET', KEYS[3], 'paused', ARGV[12]) end
end

local q = open()
if tonumber(ARGV[14]) > q.cool_until then
  q.cool_until = tonumber(ARGV[14])
  redis.call('HSET', KEYS[3], 'cool_until', ARGV[14])
end
spend(q, -tonumber(ARGV[10]))
if requeued > 0 then
  redis.call('LPUSH', KEYS[2], unpack(bundles))
  redis.call('PEXPIRE', KEYS[2], ARGV[11])
  q.length = q.length + requeued
  redis.call('HSET', KEYS[3], 'queued', q.length)
end
mark(q)
