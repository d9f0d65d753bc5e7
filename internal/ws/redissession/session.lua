-- Numbers a session of a player, higher than all before.
-- KEYS  1 session (hash: number, node, attempt, former)
-- ARGV  1 id of this attempt, 2 node of the session, 3 the lowest number to
--       give (epoch ms, so that numbers rise also when the key has expired or
--       was lost), 4 time to live (ms)
-- Returns {number as text, node of the session before, '' for none}. The same
-- attempt is answered as the first time.
local last = redis.call('HMGET', KEYS[1], 'number', 'node', 'attempt', 'former')
if last[3] == ARGV[1] then
  return {last[1], last[4]}
end
local number = tonumber(ARGV[3])
if last[1] and tonumber(last[1]) >= number then
  number = tonumber(last[1]) + 1
end
local text = string.format('%.0f', number)
local former = last[2] or ''
redis.call('HSET', KEYS[1], 'number', text, 'node', ARGV[2], 'attempt', ARGV[1], 'former', former)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return {text, former}
