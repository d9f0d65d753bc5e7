-- Counts a batch as lost when its lease has ended. Runs after counts.lua.
-- KEYS  as in game.lua, 6 taken (zset), 7 batch (list)
-- ARGV  2 now (ms), 3 the member of the batch in taken, 4 number of its items,
--       5 the longest lease (ms)
-- Returns how many items are lost; 0 if the lease has not ended. A lease that ends
-- later than the longest lease comes from a clock that was set back. The script
-- shortens it to the longest lease.
local lease_end = redis.call('ZSCORE', KEYS[6], ARGV[3])
if not lease_end then
  return 0
end
local latest = tonumber(ARGV[2]) + tonumber(ARGV[5])
if tonumber(lease_end) > latest then
  redis.call('ZADD', KEYS[6], latest, ARGV[3])
  return 0
end
if tonumber(lease_end) > tonumber(ARGV[2]) then
  return 0
end
redis.call('ZREM', KEYS[6], ARGV[3])
redis.call('DEL', KEYS[7])
count('in_flight', -tonumber(ARGV[4]))
count('d:node_lost', tonumber(ARGV[4]))
return tonumber(ARGV[4])
