-- Moves the oldest items in flight, as a batch. Runs after queue.lua and pop.lua.
-- KEYS  1 due, 2 queue, 3 game, 4 taken (zset), 5 the batch (list)
-- ARGV  1 now (ms), 2 to 7 policy as in queue.lua, 8 batch id, 9 end of the lease (ms),
--       10 time to live of the batch (ms), 11 which workers take it
-- Returns {length, when the game is due or 0, the bundles of the batch}. There are no
-- bundles if nothing could be taken. A repeated run returns the same batch if it is in
-- flight still: a list of the number of its items and its bundles.
local q, bundles = open(), redis.call('LRANGE', KEYS[5], 1, -1)
if redis.call('EXISTS', KEYS[5]) == 0 and q.length > 0 and not q.paused and next_attempt(q) <= now then
  local n
  bundles, n = pop(KEYS[2], math.min(q.length, q.batch_size), true)
  q.length = q.length - n
  redis.call('RPUSH', KEYS[5], n, unpack(bundles))
  redis.call('PEXPIRE', KEYS[5], ARGV[10])
  redis.call('ZADD', KEYS[4], ARGV[9], ARGV[8] .. ' ' .. n .. ' ' .. ARGV[2])
  count('in_flight', n)
  spend(q, 1)
  redis.call('HSET', KEYS[3], 'queued', q.length, 'pool', ARGV[11])
end
return {q.length, mark(q), unpack(bundles)}
