-- Counts a batch as lost when its lease has ended.
-- KEYS  1 game (hash), 2 taken (zset), 3 the batch (list)
-- ARGV  1 now (ms), 2 the member of the batch in taken, 3 number of its items, 4 the
--       longest lease (ms)
-- Returns how many items are lost; 0 if the lease has not ended. A lease that ends
-- later than the longest lease comes from a clock that was set back. The script
-- shortens it to the longest lease.
local lease_end = tonumber(redis.call('ZSCORE', KEYS[2], ARGV[2]) or nil)
if not lease_end then
  return 0
end
local now = tonumber(ARGV[1])
if lease_end > now then
  redis.call('ZADD', KEYS[2], math.min(lease_end, now + tonumber(ARGV[4])), ARGV[2])
  return 0
end
redis.call('ZREM', KEYS[2], ARGV[2])
redis.call('DEL', KEYS[3])
redis.call('HINCRBY', KEYS[1], 'in_flight', -tonumber(ARGV[3]))
redis.call('HINCRBY', KEYS[1], 'd:node_lost', ARGV[3])
return tonumber(ARGV[3])
