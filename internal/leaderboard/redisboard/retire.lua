-- Gives up a generation of a form that nobody keeps any more.
-- KEYS  1 served or building (hash: form → generation), 2 retired (set), 3 state of the generation (hash),
--       and of one that is served 4 forms (hash), 5 published (sorted set)
-- ARGV  1 form, 2 generation, 3 instant (epoch ms) since which it must not have been touched
-- Returns 1; 0 when it was touched, or the form has another one by now: nothing was written.
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
