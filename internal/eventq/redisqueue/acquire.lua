-- Takes a token for another attempt of a batch, and renews its lease. Runs after
-- policy.lua.
-- KEYS  6 taken (zset), 7 batch (list)
-- ARGV  9 batch id, 10 end of the lease (ms), 11 time to live of the batch (ms),
--       12 the longest wait (ms), 13 '1' to renew only the lease
-- Returns how long to wait (ms); 0 if the attempt may begin, also when the script
-- runs again at the same time; -1 if the batch is not in flight.
local n, acquired_at = string.match(redis.call('LINDEX', KEYS[7], 0) or '', '^(%d+) (%d+)$')
if not n then
  return -1
end
redis.call('ZADD', KEYS[6], ARGV[10], ARGV[9] .. ' ' .. n .. ' ' .. ARGV[1])
redis.call('PEXPIRE', KEYS[7], ARGV[11])
if ARGV[13] == '1' then
  return tonumber(ARGV[12])
end
if tonumber(acquired_at) == now then
  return 0
end
if game[2] then
  return math.min(1000, tonumber(ARGV[12]))
end
local wait = next_attempt() - now
if wait > 0 then
  return math.min(wait, tonumber(ARGV[12]))
end
redis.call('LSET', KEYS[7], 0, n .. ' ' .. ARGV[2])
spend_tokens(1)
mark_due()
save_fields()
return 0
