-- Counts a batch as lost with its node. After counts.lua.
-- KEYS  as of game.lua, 6 taken (zset), 7 batch (list)
-- ARGV  2 now (ms), 3 batch in taken, 4 number of its items, 5 the longest lease (ms)
-- Returns the number of items lost, 0 where its lease has not ended. One that
-- would end later is of a clock that has gone back since: it is made the longest.
local till = redis.call('ZSCORE', KEYS[6], ARGV[3])
if not till then
  return 0
end
local longest = tonumber(ARGV[2]) + tonumber(ARGV[5])
if tonumber(till) > longest then
  redis.call('ZADD', KEYS[6], longest, ARGV[3])
  return 0
end
if tonumber(till) > tonumber(ARGV[2]) then
  return 0
end
redis.call('ZREM', KEYS[6], ARGV[3])
redis.call('DEL', KEYS[7])
count('in_flight', -tonumber(ARGV[4]))
count('d:node_lost', tonumber(ARGV[4]))
return tonumber(ARGV[4])
