-- Pushes that an answer was accepted in a duel. Between verdict.lua and
-- accept.lua.
-- KEYS  as of verdict.lua, 8 log (list)
-- ARGV  as of verdict.lua, of each 10 head and 11 tail of the push around its
--       number, '' for no push
-- Returns as verdict.lua.
local function moved(_, a, answered)
  if a[10] == '' then
    return answered
  end
  local seq = redis.call('HINCRBY', KEYS[1], 'seq', 1)
  redis.call('RPUSH', KEYS[8], a[10] .. string.format('%.0f', seq) .. a[11])
  redis.call('HSET', KEYS[7], ARGV[1], seq)
  return {'accepted', '', 0, answered, seq}
end
