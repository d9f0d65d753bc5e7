-- Counts vanished items and lost batches, repairs times and the due mark. Runs after
-- queue.lua.
-- KEYS  1 due, 2 queue, 3 game, 4 taken
-- ARGV  1 now (ms), 2 to 7 policy as in queue.lua, 8 the longest cool-down (ms), 9 the
--       longest lease (ms), 10 the largest difference between clocks (ms)
-- Returns nothing. A time that lies further ahead comes from a clock that was set back
-- later. The script replaces it by now, or a lease by the longest one: otherwise nothing
-- would happen until that time.
local q, lease_end, skew = open(), now + tonumber(ARGV[9]), tonumber(ARGV[10])
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', now)) do
  local n = tonumber(string.match(member, ' (%d+)$'))
  redis.call('ZREM', KEYS[4], member)
  count('in_flight', -n)
  count('d:node_lost', n)
end
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], '(' .. lease_end, '+inf')) do
  redis.call('ZADD', KEYS[4], lease_end, member)
end
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
  redis.call('HSET', KEYS[3], 'rate_at', now)
end
mark(q)
