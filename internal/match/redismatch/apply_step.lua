-- Applies a step: state, pushes, deadline, and the first of the question. Runs
-- after check_step.lua and end_match.lua.
-- KEYS  as of check_step.lua
-- ARGV  as of check_step.lua
-- Returns as check_step.lua.
local seq, at = tonumber(m[5]), 16
local first = seq + 1
for _ = 1, tonumber(ARGV[15]) do
  seq = seq + 1
  redis.call('RPUSH', KEYS[2], ARGV[at] .. string.format('%.0f', seq) .. ARGV[at + 1])
  at = at + 2
end
local ttl = redis.call('PTTL', KEYS[1])
if first == 1 and ttl > 0 then -- the log of an arena is a new key
  redis.call('PEXPIRE', KEYS[2], ttl)
end
local version = math.max(tonumber(m[6]), tonumber(ARGV[7])) + 1
redis.call('HSET', KEYS[1], 'step', ARGV[2], 'step_first', first, 'seq', seq, 'version', version, unpack(ARGV, at))
if ARGV[11] == '' and ARGV[12] ~= '0' then -- the match is over and leaves no result
  redis.call('HDEL', KEYS[4], ARGV[1], ARGV[1] .. '|v')
else
  redis.call('HSET', KEYS[4], ARGV[1], seq, ARGV[1] .. '|v', version)
end
if ARGV[8] == '0' then
  redis.call('ZREM', KEYS[3], ARGV[1])
else
  redis.call('ZADD', KEYS[3], ARGV[8], ARGV[1])
end
if ARGV[9] ~= '' then
  redis.call('SET', KEYS[6], ARGV[9], 'PX', ARGV[10])
end
return {'applied', first, version, redis.call('SMEMBERS', KEYS[5])}
