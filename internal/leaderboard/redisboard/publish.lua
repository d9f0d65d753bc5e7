-- Makes the board set that is being built the served one.
-- KEYS  1 served, 2 building (hashes: config hash → id of a board set).
--       3 retired (set of ids), 4 forms (hash: config hash → configuration), 5 published (sorted set of config hashes).
--       6 state of the board set (hash), 7 state of the board set served before (KEYS 6 again if none was served).
-- ARGV  1 config hash, 2 id of the board set, 3 id of the board set served before, or empty.
-- Returns 1. Returns 0 and writes nothing if the board set is incomplete, corrupt or not being built.
--         It also returns 0 if another board set than ARGV 3 is served.
local served = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if redis.call('HGET', KEYS[2], ARGV[1]) ~= ARGV[2] or served ~= ARGV[3] then
  return 0
end
local state = redis.call('HMGET', KEYS[6], 'version', 'loading', 'config')
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
