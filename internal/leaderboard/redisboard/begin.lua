-- Starts to build a generation, instead of one that cannot be carried on.
-- KEYS  1 served, 2 building (hashes: form → generation), 3 retired (set), 4 state of the new one (hash)
-- ARGV  1 form, 2 new generation, 3 the one that it replaces, or empty, 4.. fields and values of its state by turns
-- Returns 1; 0 when another is being built, or one other than ARGV 3 is served: nothing was written.
local building = redis.call('HGET', KEYS[2], ARGV[1])
if building and building ~= ARGV[3] then
  return 0
end
local served = redis.call('HGET', KEYS[1], ARGV[1])
if not building and served and served ~= ARGV[3] then
  return 0
end
if building then
  redis.call('SADD', KEYS[3], building)
end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('HSET', KEYS[4], unpack(ARGV, 4))
return 1
