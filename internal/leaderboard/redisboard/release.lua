-- Releases a lease if the holder has it.
-- KEYS  1 lease (text).
-- ARGV  1 holder.
-- Returns 1. Returns 0 and writes nothing if the holder does not have the lease.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
return redis.call('DEL', KEYS[1])
