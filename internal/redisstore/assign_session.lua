-- Assigns a number to a new session of a player, higher than all earlier numbers.
-- KEYS  1 session key of the player (hash: number and node of the newest session, id of
--       the attempt that assigned it, former: node of the session before)
-- ARGV  1 id of this attempt, 2 node of the new session, 3 lowest number to assign
--       (epoch ms; so numbers rise even if the key has expired or was lost),
--       4 time to live in ms
-- Returns {number as text, node of the session before, or '' if none is known}.
-- A call with the same attempt id as the last call gets the same reply.
local session_key = KEYS[1]
local attempt, node, min_number, ttl = unpack(ARGV, 1, 4)
local session = redis.call('HMGET', session_key, 'number', 'node', 'attempt', 'former')
local last_number, last_node, last_attempt, last_former = session[1], session[2], session[3], session[4]
if last_attempt == attempt then
  return {last_number, last_former}
end
local number = tonumber(min_number)
if last_number and tonumber(last_number) >= number then
  number = tonumber(last_number) + 1
end
local text = string.format('%.0f', number)
local former = last_node or ''
redis.call('HSET', session_key, 'number', text, 'node', node, 'attempt', attempt, 'former', former)
redis.call('PEXPIRE', session_key, ttl)
return {text, former}
