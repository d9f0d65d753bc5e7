-- Makes the board set that is being built the served one.
-- KEYS  1 served, 2 building (hashes: config hash → id of a board set), 3 state of the board set (hash).
-- ARGV  1 config hash, 2 id of the board set.
-- Returns 1. Returns 0 and writes nothing if the board set is incomplete, corrupt or not being built.
local served, building, state = unpack(KEYS)
local config_hash, set_id = unpack(ARGV)
local version, loading = unpack(redis.call('HMGET', state, 'version', 'loading'))
if redis.call('HGET', building, config_hash) ~= set_id or not version or version == 'torn' or loading ~= '0' then
  return 0
end
redis.call('HSET', served, config_hash, set_id)
redis.call('HDEL', building, config_hash)
return 1
