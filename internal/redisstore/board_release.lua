-- Releases a lease if the holder has it.
-- KEYS  1 lease (text).
-- ARGV  1 holder.
-- Returns 1. Returns 0 and writes nothing if the holder does not have the lease.
local lease = KEYS[1]
local holder = ARGV[1]
if redis.call('GET', lease) ~= holder then
  return 0
end
return redis.call('DEL', lease)
