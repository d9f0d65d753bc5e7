-- Makes a generation that was being built the served one.
-- KEYS  1 served, 2 building (hashes: config hash → generation).
--       3 retired (set), 4 forms (hash), 5 published (sorted set), 6 state of the generation (hash).
--       7 state of the generation served before (KEYS 6 again if none).
-- ARGV  1 config hash, 2 generation, 3 the generation served before, or empty.
-- Returns 1. Returns 0 and writes nothing if the generation is incomplete or not being built.
--         It also returns 0 if another generation than ARGV 3 is served.
local served = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if redis.call('HGET', KEYS[2], ARGV[1]) ~= ARGV[2] or served ~= ARGV[3] then
  return 0
end
local state = redis.call('HMGET', KEYS[6], 'stamp', 'loading', 'config')
if not state[1] or state[1] == 'torn' or state[2] ~= '0' then
  return 0
end
if served ~= '' then
  redis.call('HDEL', KEYS[7], 'ready')
  redis.call('SADD', KEYS[3], served)
end
local newest = redis.call('ZREVRANGE', KEYS[5], 0, 0, 'WITHSCORES')
redis.call('ZADD', KEYS[5], string.format('%.0f', (tonumber(newest[2]) or 0) + 1), ARGV[1])
redis.call('HSET', KEYS[4], ARGV[1], state[3])
redis.call('HSET', KEYS[6], 'ready', '1')
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('HDEL', KEYS[2], ARGV[1])
return 1
