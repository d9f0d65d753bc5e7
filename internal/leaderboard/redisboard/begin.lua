-- Begins to build a generation that replaces another one.
-- KEYS  1 served, 2 building (hashes: config hash → generation).
--       3 retired (set), 4 state of the new generation (hash).
-- ARGV  1 config hash, 2 new generation, 3 replaced generation or empty.
--       4.. fields and values of the new state, alternately.
-- Returns 1. Returns 0 and writes nothing if a generation other than ARGV 3 is being built or served.
local building = redis.call('HGET', KEYS[2], ARGV[1])
if building and building ~= ARGV[3] then
  return 0
end
local served = redis.call('HGET', KEYS[1], ARGV[1])
if not building and served and served ~= ARGV[3] then
  return 0
end
if building then
  redis.call('SADD', KEYS[3], building)
end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('HSET', KEYS[4], unpack(ARGV, 4))
return 1
