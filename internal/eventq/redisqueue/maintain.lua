-- Counts vanished items, repairs times and the due mark. Runs after queue.lua.
-- KEYS  1 due, 2 queue, 3 game
-- ARGV  1 now (ms), 2 to 7 policy as in queue.lua, 8 the longest cool-down (ms), 9 the
--       largest difference between clocks (ms)
-- Returns nothing. A time that lies further ahead comes from a clock that was set back
-- later. The script replaces it by now: otherwise nothing would leave the queue until
-- that time.
local q, skew = open(), tonumber(ARGV[9])
if q.cool_until > now + tonumber(ARGV[8]) then
  q.cool_until = now
  redis.call('HSET', KEYS[3], 'cool_until', now)
end
if q.flush_before > now + skew then
  q.flush_before = 0
  redis.call('HDEL', KEYS[3], 'flush_before')
end
if q.rate_at > now + skew + q.burst * q.interval then
  q.rate_at = now
  spend(q, 0)
end
mark(q)
