-- Ends a batch. Runs after counts.lua.
-- KEYS  as in game.lua, 6 taken (zset), 7 batch (list)
-- ARGV  as in policy.lua, 9 batch id, 10 result marker: it replaces the batch and
--       says how the batch ended, 11 number of items, 12 how many were sent, 13 '1'
--       if no attempt was made, 14 number of counters, then each counter with its
--       number, then the number of ids to forget, then these ids, then the bundles
--       to requeue, the last bundle first
-- Returns 0 if the batch is not in flight. Returns nothing if it ended with this
-- marker, now or before.
local header = redis.call('LINDEX', KEYS[7], 0)
if header == ARGV[10] then
  return
end
local n = string.match(header or '', '^(%d+) %d')
if not n then
  return 0
end
if tonumber(n) ~= tonumber(ARGV[11]) then
  return redis.error_reply('ERR the result covers ' .. ARGV[11] .. ' items, but the batch has ' .. n)
end
redis.call('ZREM', KEYS[6], ARGV[9] .. ' ' .. n .. ' ' .. ARGV[1])
redis.call('LTRIM', KEYS[7], 0, 0)
redis.call('LSET', KEYS[7], 0, ARGV[10])
count('in_flight', -tonumber(n))
count('sent', tonumber(ARGV[12]))
local i = 15
for _ = 1, tonumber(ARGV[14]) do
  count(ARGV[i], tonumber(ARGV[i + 1]))
  i = i + 2
end
local requeue_at = i + 1 + tonumber(ARGV[i])
if requeue_at > i + 1 then
  redis.call('ZREM', KEYS[5], unpack(ARGV, i + 1, requeue_at - 1))
end
