-- Adds an empty board set as the one being built.
-- KEYS  1 served, 2 building (hashes: config hash → id of a board set).
--       3 retired (set of ids), 4 state of the new board set (hash).
-- ARGV  1 config hash, 2 id of the new board set, 3 id of the replaced board set or empty.
--       4.. fields and values of the new state, alternately.
-- Returns 1. Returns 0 and writes nothing if the board set being built is not ARGV 3.
--         It also returns 0 if none is being built and the served one is not ARGV 3.
local served_key, building_key, retired, state = unpack(KEYS, 1, 4)
local config_hash, new_id, replaced_id = unpack(ARGV, 1, 3)
local building = redis.call('HGET', building_key, config_hash)
if building and building ~= replaced_id then
  return 0
end
local served = redis.call('HGET', served_key, config_hash)
if not building and served and served ~= replaced_id then
  return 0
end
if building then
  redis.call('SADD', retired, building)
end
redis.call('HSET', building_key, config_hash, new_id)
redis.call('HSET', state, unpack(ARGV, 4))
return 1
