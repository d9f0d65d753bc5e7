-- Prevents a match from ever being created, unless it exists.
-- KEYS  1 match (hash), 2 tombstone (string)
-- ARGV  1 time to live of the tombstone (ms)
-- Returns 1 if the match exists or existed, else 0.
local match, tombstone, ttl = KEYS[1], KEYS[2], ARGV[1]
if redis.call('EXISTS', match) == 1 or redis.call('GET', tombstone) == 'over' then
  return 1
end
redis.call('SET', tombstone, 'void', 'PX', ttl)
return 0
