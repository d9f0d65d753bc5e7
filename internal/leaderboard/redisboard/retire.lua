-- Gives up an abandoned generation of another configuration.
-- KEYS  1 served or building (hash: config hash → generation).
--       2 retired (set), 3 state of the generation (hash).
--       For a served generation also 4 forms (hash), 5 published (sorted set).
-- ARGV  1 config hash, 2 generation, 3 instant (epoch ms) of the last write that counts as abandoned.
-- Returns 1. Returns 0 and writes nothing if a write came later, or the configuration has another generation.
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
