-- Has readers see a generation that was being built.
-- KEYS  1 served, 2 building (hashes: form → generation), 3 retired (set),
--       4 state of the generation (hash), 5 state of the one served before (KEYS 4 again if none)
-- ARGV  1 form, 2 generation, 3 the one served before, or empty
-- Returns 1; 0 when it is not being built, is lost, or another one is served: nothing was written.
local served = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if redis.call('HGET', KEYS[2], ARGV[1]) ~= ARGV[2] or served ~= ARGV[3] or redis.call('EXISTS', KEYS[4]) == 0 then
  return 0
end
if served ~= '' then
  redis.call('HDEL', KEYS[5], 'ready')
  redis.call('SADD', KEYS[3], served)
end
redis.call('HSET', KEYS[4], 'ready', '1')
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('HDEL', KEYS[2], ARGV[1])
return 1
