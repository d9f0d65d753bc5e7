-- Gives a session of a player a number that is higher than all before.
-- KEYS  1 session key of the player (hash: number, node, attempt, former)
-- ARGV  1 id of this attempt, 2 node of the session, 3 lowest number to give
--       (epoch ms; keeps numbers rising when the key has expired or was lost),
--       4 time to live in ms
-- Returns {number as text, node of the session before, or '' if none is known}.
-- A repeated attempt gets the reply of the first one.
local session = redis.call('HMGET', KEYS[1], 'number', 'node', 'attempt', 'former')
local last_number, last_node, last_attempt, last_former = session[1], session[2], session[3], session[4]
if last_attempt == ARGV[1] then
  return {last_number, last_former}
end
local number = tonumber(ARGV[3])
if last_number and tonumber(last_number) >= number then
  number = tonumber(last_number) + 1
end
local text = string.format('%.0f', number)
local former = last_node or ''
redis.call('HSET', KEYS[1], 'number', text, 'node', ARGV[2], 'attempt', ARGV[1], 'former', former)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return {text, former}
