-- Retires an abandoned board set of another configuration, so that it is removed later.
-- KEYS  1 served or building (hash: config hash → id of a board set).
--       2 retired (set of ids), 3 state of the board set (hash).
--       For a served board set also 4 forms (hash), 5 published (sorted set).
-- ARGV  1 config hash, 2 id of the board set, 3 time (epoch ms): a board set whose last transaction is older is abandoned.
-- Returns 1. Returns 0 and writes nothing if the last transaction is not older, or the configuration has another board set.
local touched = tonumber(redis.call('HGET', KEYS[3], 'touched') or '0')
if touched >= tonumber(ARGV[3]) or redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then
  return 0
end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[3], 'ready')
redis.call('SADD', KEYS[2], ARGV[2])
if KEYS[4] then
  redis.call('HDEL', KEYS[4], ARGV[1])
  redis.call('ZREM', KEYS[5], ARGV[1])
end
return 1
