-- Makes sure that a match is never created, unless it has been.
-- KEYS  1 match (hash), 2 tomb (string)
-- ARGV  1 how long to remember it (ms)
-- Returns 1 where it has been created, else 0.
if redis.call('EXISTS', KEYS[1]) == 1 or redis.call('GET', KEYS[2]) == 'over' then
  return 1
end
redis.call('SET', KEYS[2], 'void', 'PX', ARGV[1])
return 0
