-- Acquires or renews a lease.
-- KEYS  1 lease (text).
-- ARGV  1 holder, 2 time to live (ms).
-- Returns 1. Returns 0 and writes nothing if another holder has the lease.
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
