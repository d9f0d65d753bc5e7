-- Ends a batch. After counts.lua.
-- KEYS  as of game.lua, 6 taken (zset), 7 batch (list)
-- ARGV  as of terms.lua, 9 batch id, 10 what the batch is replaced by, which says
--       how it was settled, 11 number of items, 12 sent, 13 '1' where no try was
--       made, 14 number n of counters, then each with its number, then the number
--       f of ids to forget, and they, then the bundles to give back, the last first
-- Returns 0 where it is not in flight, nothing when it is settled so, now or before.
local head = redis.call('LINDEX', KEYS[7], 0)
if head == ARGV[10] then
  return
end
local n = string.match(head or '', '^(%d+) %d')
if not n then
  return 0
end
if tonumber(n) ~= tonumber(ARGV[11]) then
  return redis.error_reply('ERR ' .. ARGV[11] .. ' items are settled of a batch of ' .. n)
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
local back = i + 1 + tonumber(ARGV[i])
if back > i + 1 then
  redis.call('ZREM', KEYS[5], unpack(ARGV, i + 1, back - 1))
end
