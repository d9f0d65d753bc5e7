-- Ends the joining of players, also of late ones.
-- KEYS  as of add_seat.lua
-- ARGV  1 match id
-- Returns 1; nil if there is no such match.
local match, seq_key, id = KEYS[1], KEYS[10], ARGV[1]
local m = redis.call('HMGET', match, 'phase', 'locked')
if not m[1] then
  return false
end
if m[1] ~= 'over' and m[1] ~= 'settled' and m[2] == '0' then
  redis.call('HSET', match, 'locked', 1)
  redis.call('HSET', seq_key, id .. '|v', redis.call('HINCRBY', match, 'version', 1))
end
return 1
