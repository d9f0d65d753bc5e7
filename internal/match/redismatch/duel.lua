-- Pushes that an answer was accepted in a duel, after accept.lua.
-- KEYS  as of verdict.lua, 9 log (list)
-- ARGV  as of verdict.lua, 14 head and 15 tail of the push around its number,
--       '' for no push
-- Returns as verdict.lua.
local seq = 0
if ARGV[14] ~= '' then
  seq = redis.call('HINCRBY', KEYS[1], 'seq', 1)
  redis.call('RPUSH', KEYS[9], ARGV[14] .. string.format('%.0f', seq) .. ARGV[15])
  redis.call('HSET', KEYS[8], ARGV[1], seq)
end
return {'accepted', '', answered, m[6], version, seq, redis.call('SMEMBERS', KEYS[6])}
