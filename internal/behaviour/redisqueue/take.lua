-- Moves the oldest items in flight. After terms.lua.
-- KEYS  6 taken (zset), 7 batch (list)
-- ARGV  9 batch id, 10 end of the lease (ms), 11 how long the batch is kept (ms),
--       12 lane
-- Returns {length, when the game is due or 0, batch}. The batch is a head 'COUNT
-- PERMITTED' and bundles; nothing where there is none, something else where it is
-- settled.
local held = redis.call('LRANGE', KEYS[7], 0, -1)
if #held > 0 or length == 0 or game[2] or free() > now then
  return {length, mark(), unpack(held)}
end
local n = math.min(length, batch)
held = shift(n)
redis.call('RPUSH', KEYS[7], n .. ' 0', unpack(held))
redis.call('PEXPIRE', KEYS[7], ARGV[11])
redis.call('ZADD', KEYS[6], ARGV[10], ARGV[9] .. ' ' .. n .. ' ' .. ARGV[1])
write('lane', ARGV[12])
count('in_flight', n)
spend(1)
save()
return {length, mark(), n .. ' 0', unpack(held)}
