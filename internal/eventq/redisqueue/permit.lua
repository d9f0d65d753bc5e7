-- Takes a token for another try of a batch, and renews its lease. After terms.lua.
-- KEYS  6 taken (zset), 7 batch (list)
-- ARGV  9 batch id, 10 end of the lease (ms), 11 how long the batch is kept (ms),
--       12 the longest wait (ms), 13 '1' where only the lease is to be renewed
-- Returns how long to wait (ms), 0: it may be tried, also when run again; -1: it
-- is not in flight.
local n, permitted = string.match(redis.call('LINDEX', KEYS[7], 0) or '', '^(%d+) (%d+)$')
if not n then
  return -1
end
redis.call('ZADD', KEYS[6], ARGV[10], ARGV[9] .. ' ' .. n .. ' ' .. ARGV[1])
redis.call('PEXPIRE', KEYS[7], ARGV[11])
if ARGV[13] == '1' then
  return tonumber(ARGV[12])
end
if tonumber(permitted) == now then
  return 0
end
if game[2] then
  return math.min(1000, tonumber(ARGV[12]))
end
local wait = free() - now
if wait > 0 then
  return math.min(wait, tonumber(ARGV[12]))
end
redis.call('LSET', KEYS[7], 0, n .. ' ' .. ARGV[2])
spend(1)
mark()
save()
return 0
