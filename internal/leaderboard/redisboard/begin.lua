-- Adds an empty board set as the one being built.
-- KEYS  1 served, 2 building (hashes: config hash → id of a board set).
--       3 retired (set of ids), 4 state of the new board set (hash).
-- ARGV  1 config hash, 2 id of the new board set, 3 id of the replaced board set or empty.
--       4.. fields and values of the new state, alternately.
-- Returns 1. Returns 0 and writes nothing if the board set being built is not ARGV 3.
--         It also returns 0 if none is being built and the served one is not ARGV 3.
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
