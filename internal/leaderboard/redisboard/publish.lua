-- Makes the board set that is being built the served one.
-- KEYS  1 served, 2 building (hashes: config hash → id of a board set).
--       3 retired (set of ids), 4 forms (hash: config hash → configuration), 5 published (sorted set of config hashes).
--       6 state of the board set (hash), 7 state of the board set served before (KEYS 6 again if none was served).
-- ARGV  1 config hash, 2 id of the board set, 3 id of the board set served before, or empty.
-- Returns 1. Returns 0 and writes nothing if the board set is incomplete, corrupt or not being built.
--         It also returns 0 if another board set than ARGV 3 is served.
local served_key, building, retired, configs, published, new_state, old_state = unpack(KEYS, 1, 7)
local config_hash, new_id, old_id = unpack(ARGV, 1, 3)
local served = redis.call('HGET', served_key, config_hash) or ''
if redis.call('HGET', building, config_hash) ~= new_id or served ~= old_id then
  return 0
end
local state = redis.call('HMGET', new_state, 'version', 'loading', 'config')
if not state[1] or state[1] == 'torn' or state[2] ~= '0' then
  return 0
end
if served ~= '' then
  redis.call('HDEL', old_state, 'ready')
  redis.call('SADD', retired, served)
end
local newest = redis.call('ZREVRANGE', published, 0, 0, 'WITHSCORES')
redis.call('ZADD', published, string.format('%.0f', (tonumber(newest[2]) or 0) + 1), config_hash)
redis.call('HSET', configs, config_hash, state[3])
redis.call('HSET', new_state, 'ready', '1')
redis.call('HSET', served_key, config_hash, new_id)
redis.call('HDEL', building, config_hash)
return 1
