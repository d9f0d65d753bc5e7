-- Records a failed attempt, and a time before which no attempt may begin.
-- KEYS  1 game (hash), 2 due (zset)
-- ARGV  1 game, 2 the error, 3 now (ms), 4 no attempt before this time (ms), or 0
-- Returns nothing.
redis.call('HSET', KEYS[1], 'error', ARGV[2], 'error_at', ARGV[3])
local cool_until = redis.call('HGET', KEYS[1], 'cool_until') or 0
if tonumber(ARGV[4]) <= tonumber(cool_until) then
  return
end
redis.call('HSET', KEYS[1], 'cool_until', ARGV[4])
local due = redis.call('ZSCORE', KEYS[2], ARGV[1])
if due and tonumber(due) < tonumber(ARGV[4]) then
  redis.call('ZADD', KEYS[2], ARGV[4], ARGV[1])
end
