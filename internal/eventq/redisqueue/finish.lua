-- Ends a batch, or a part of it. Runs after queue.lua.
-- KEYS  1 due, 2 total, 3 queue, 4 game, 5 taken (zset), 6 the batch (list), 7 seen (zset)
-- ARGV  1 now (ms), 2 to 7 policy as in queue.lua, 8 batch id, 9 result: what tells it
--       from other results, 10 how many items were sent, 11 how many stay in flight,
--       12 attempts that were not made, 13 time to live of the queue (ms), 14 number of
--       counters and 15 of ids to forget, then the counters with their numbers, the ids,
--       and the bundles to requeue, the last bundle first
-- Returns nothing if the result is stored now or was before, 0 if the batch is not in
-- flight. Items that stay are only counted: their node holds them.
local n, acquired_at, result = string.match(redis.call('LINDEX', KEYS[6], 0) or '', '^(%d+) (%d+) (.*)$')
if result == ARGV[9] then
  return
end
if not n or n == '0' then
  return 0
end
local ids_at = 16 + 2 * tonumber(ARGV[14])
local bundles = {unpack(ARGV, ids_at + tonumber(ARGV[15]))}
local sent, left, requeued = tonumber(ARGV[10]), tonumber(ARGV[11]), 0
for _, bundle in ipairs(bundles) do requeued = requeued + tonumber(string.match(bundle, '^%d+')) end
local ended = sent + requeued
for i = 16, ids_at - 1, 2 do ended = ended + tonumber(ARGV[i + 1]) end
if ended + left ~= tonumber(n) then
  return redis.error_reply('ERR the result covers ' .. ended + left .. ' items, but the batch has ' .. n)
end

local member = ARGV[8] .. ' ' .. n .. ' ' .. ARGV[2]
if left > 0 then
  redis.call('ZADD', KEYS[5], redis.call('ZSCORE', KEYS[5], member), ARGV[8] .. ' ' .. left .. ' ' .. ARGV[2])
end
redis.call('ZREM', KEYS[5], member)
redis.call('LTRIM', KEYS[6], 0, 0)
redis.call('LSET', KEYS[6], 0, left .. ' ' .. acquired_at .. ' ' .. ARGV[9])
count(KEYS[4], 'in_flight', -ended)
count(KEYS[4], 'sent', sent)
for i = 16, ids_at - 1, 2 do count(KEYS[4], ARGV[i], tonumber(ARGV[i + 1])) end
if tonumber(ARGV[15]) > 0 then
  redis.call('ZREM', KEYS[7], unpack(ARGV, ids_at, ids_at + tonumber(ARGV[15]) - 1))
end

if requeued > 0 or ARGV[12] ~= '0' then
  local q = open()
  spend(q, -tonumber(ARGV[12]))
  if requeued > 0 then
    redis.call('LPUSH', KEYS[3], unpack(bundles))
    redis.call('PEXPIRE', KEYS[3], ARGV[13])
    q.length = q.length + requeued
    redis.call('HSET', KEYS[4], 'queued', q.length)
  end
  mark(q)
end
