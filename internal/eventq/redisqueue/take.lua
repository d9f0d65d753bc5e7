-- Moves the oldest items in flight, as a batch. Runs after queue.lua and pop.lua.
-- KEYS  1 due, 2 queue, 3 game, 4 taken (zset), 5 the batch (list)
-- ARGV  1 now (ms), 2 to 7 policy as in queue.lua, 8 batch id, 9 messages of a full
--       batch's size at most, 10 end of the lease (ms), 11 time to live of the batch (ms)
-- Returns {length, when the next batch can be taken or 0, the bundles of the batch}. There
-- are no bundles if nothing could be taken. A repeated run returns the same batch if it is
-- in flight still: a list of the number of its items and its bundles.
local q, stored, bundles = open(), redis.call('LRANGE', KEYS[5], 0, -1), {}
if #stored > 0 then
  if redis.call('ZSCORE', KEYS[4], ARGV[8] .. ' ' .. stored[1]) then bundles = {unpack(stored, 2)} end
elseif q.length > 0 and not q.paused and next_attempt(q) <= now then
  local messages = math.min(tonumber(ARGV[9]), math.floor(q.length / q.batch_size))
  if q.interval > 0 then
    messages = math.min(messages, math.floor((now - q.rate_at + 0.01) / q.interval + q.burst))
  end
  local n
  bundles, n = pop(KEYS[2], math.min(q.length, math.max(1, messages) * q.batch_size), true)
  q.length = q.length - n
  redis.call('RPUSH', KEYS[5], n, unpack(bundles))
  redis.call('PEXPIRE', KEYS[5], ARGV[11])
  redis.call('ZADD', KEYS[4], ARGV[10], ARGV[8] .. ' ' .. n)
  count('in_flight', n)
  spend(q, math.ceil(n / q.batch_size))
  redis.call('HSET', KEYS[3], 'queued', q.length)
end
return {q.length, mark(q), unpack(bundles)}
