-- Ends the joining of players. Outside the lobby no player can join anyway.
-- KEYS  as of add_seat.lua
-- ARGV  1 match id
-- Returns 1; nil if there is no such match.
local m = redis.call('HMGET', KEYS[1], 'phase', 'locked')
if not m[1] then
  return false
end
if m[1] == 'lobby' and m[2] == '0' then
  redis.call('HSET', KEYS[1], 'locked', 1)
  redis.call('HSET', KEYS[11], ARGV[1] .. '|v', redis.call('HINCRBY', KEYS[1], 'version', 1))
end
return 1
