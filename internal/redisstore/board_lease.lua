-- Acquires, renews or releases a lease.
-- KEYS  1 lease (text).
-- ARGV  1 holder, 2 time to live (ms), 0: release.
-- Returns 1. Returns 0 and writes nothing if another holder has the lease.

local lease = KEYS[1]
local new_holder, ttl = ARGV[1], ARGV[2]

local holder = redis.call('GET', lease)
if holder and holder ~= new_holder then
  return 0
end
if ttl == '0' then
  redis.call('DEL', lease)
else
  redis.call('SET', lease, new_holder, 'PX', ttl)
end
return 1
