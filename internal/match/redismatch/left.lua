-- What it does to the question that a player has left: nobody waits for an
-- answer that may still have come, and who was right does not survive. In rank
-- the player is behind all who have not left. After unsit.lua.
-- KEYS  as of sit.lua
-- ARGV  as of unsit.lua
-- Returns as sit.lua.
redis.call('ZINCRBY', KEYS[7], -1e15, ARGV[2])
if m[3] == 'survival' then
  redis.call('ZINCRBY', KEYS[8], -1e15, ARGV[2])
end
local t = redis.call('HMGET', KEYS[5], 'last|' .. ARGV[2], 'latest|' .. ARGV[2])
local count, last = m[2] + 1, tonumber(t[1] or 0)
local survival, closing = m[3] == 'survival', m[1] == 'open' or m[1] == 'sealed'
if survival and last <= tonumber(m[6]) then
  return told('left') -- was out before
end
if survival and closing and last == count then
  redis.call('HINCRBY', KEYS[1], 'quit', 1)
elseif m[1] == 'countdown' or m[1] == 'revealed' or m[1] == 'open' and tonumber(t[2] or 0) < count then
  local alive = redis.call('HINCRBY', KEYS[1], 'alive', -1)
  if m[1] == 'open' and tonumber(m[5]) >= alive then
    redis.call('ZADD', KEYS[10], m[7], ARGV[1])
  end
end
return told('left')
