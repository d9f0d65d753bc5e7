-- Spends another attempt of a batch, and renews its lease. Runs after queue.lua.
-- KEYS  1 due, 2 total, 3 queue, 4 game, 5 taken (zset), 6 the batch (list)
-- ARGV  1 now (ms), 2 to 7 policy as in queue.lua, 8 batch id, 9 end of the lease (ms),
--       10 time to live of the batch (ms), 11 the longest wait (ms), 12 '1' to renew
--       only the lease
-- Returns how long to wait (ms); 0 if the attempt may begin, also when the script
-- runs again at the same time; -1 if the batch is not in flight.
local n, acquired_at, result = string.match(redis.call('LINDEX', KEYS[6], 0) or '', '^([1-9]%d*) (%d+) (.*)$')
if not n then
  return -1
end
redis.call('ZADD', KEYS[5], ARGV[9], ARGV[8] .. ' ' .. n .. ' ' .. ARGV[2])
redis.call('PEXPIRE', KEYS[6], ARGV[10])
if ARGV[12] == '1' then
  return tonumber(ARGV[11])
end
if tonumber(acquired_at) == now then
  return 0
end
local q = open()
local wait = q.paused and 1000 or next_attempt(q) - now
if wait > 0 then
  return math.min(wait, tonumber(ARGV[11]))
end
redis.call('LSET', KEYS[6], 0, n .. ' ' .. ARGV[1] .. ' ' .. result)
spend(q, 1)
mark(q)
return 0
