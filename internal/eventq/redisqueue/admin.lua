-- Changes a game for an operator.
-- KEYS  1 due (zset), 2 queue (list), 3 game (hash)
-- ARGV  1 now (ms), 2 game, 3 operation: pause, resume or flush, 4 the reason of a pause
-- Returns nothing. A flush makes everything due that is queued so far. So does the end of
-- a pause.
if ARGV[3] == 'pause' then
  redis.call('HSET', KEYS[3], 'paused', ARGV[4])
  redis.call('ZREM', KEYS[1], ARGV[2])
  return
end
if ARGV[3] == 'resume' and redis.call('HDEL', KEYS[3], 'paused') == 0 then
  return
end
redis.call('HSET', KEYS[3], 'flush_before', ARGV[1])
local state = redis.call('HMGET', KEYS[3], 'paused', 'cool_until')
if not state[1] and redis.call('EXISTS', KEYS[2]) == 1 then
  redis.call('ZADD', KEYS[1], math.max(ARGV[1], state[2] or 0), ARGV[2])
end
