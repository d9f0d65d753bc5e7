-- Retires an abandoned board set of another configuration, so that it is removed later.
-- KEYS  1 served or building (hash: config hash → id of a board set).
--       2 retired (set of ids), 3 state of the board set (hash).
--       For a served board set also 4 forms (hash), 5 published (sorted set).
-- ARGV  1 config hash, 2 id of the board set, 3 time (epoch ms): a board set whose last transaction is older is abandoned.
-- Returns 1. Returns 0 and writes nothing if the last transaction is not older, or the configuration has another board set.
local sets, retired, state, configs, published = unpack(KEYS, 1, 5)
local config_hash, set_id, abandoned_before = unpack(ARGV, 1, 3)
local touched = tonumber(redis.call('HGET', state, 'touched') or '0')
if touched >= tonumber(abandoned_before) or redis.call('HGET', sets, config_hash) ~= set_id then
  return 0
end
redis.call('HDEL', sets, config_hash)
redis.call('HDEL', state, 'ready')
redis.call('SADD', retired, set_id)
if configs then
  redis.call('HDEL', configs, config_hash)
  redis.call('ZREM', published, config_hash)
end
return 1
