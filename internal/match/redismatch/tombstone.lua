-- Prevents a match from ever being created, unless it exists.
-- KEYS  1 match (hash), 2 tombstone (string)
-- ARGV  1 time to live of the tombstone (ms)
-- Returns 1 if the match exists or existed, else 0.
if redis.call('EXISTS', KEYS[1]) == 1 or redis.call('GET', KEYS[2]) == 'over' then
  return 1
end
redis.call('SET', KEYS[2], 'void', 'PX', ARGV[1])
return 0
