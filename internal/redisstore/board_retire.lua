-- Removes an abandoned configuration, so that a sweep removes its board sets.
-- KEYS  1 served, 2 building (hashes: config hash → id of a board set), 3 state of the configuration's board set (hash).
-- ARGV  1 config hash, 2 id of its board set, 3 time (epoch ms): a board set whose last transaction is older is abandoned.
-- Returns 1. Returns 0 and writes nothing if the last transaction is not older, or the configuration has another board set.
local served, building, state = unpack(KEYS)
local config_hash, set_id, abandoned_before = unpack(ARGV)
local touched = tonumber(redis.call('HGET', state, 'touched') or '0')
local current_id = redis.call('HGET', served, config_hash) or redis.call('HGET', building, config_hash)
if touched >= tonumber(abandoned_before) or current_id ~= set_id then
  return 0
end
redis.call('HDEL', served, config_hash)
redis.call('HDEL', building, config_hash)
return 1
