-- Makes due what is queued so far. After game.lua.
-- KEYS  as of game.lua
-- ARGV  none of its own
-- Returns nothing.
redis.call('HSET', KEYS[2], 'hurried', now)
if length > 0 and not game[2] then
  redis.call('ZADD', KEYS[3], math.max(now, tonumber(game[3] or 0)), ARGV[1])
end
