-- Makes everything due that is queued so far. Runs after game.lua.
-- KEYS  as in game.lua
-- ARGV  none of its own
-- Returns nothing.
redis.call('HSET', KEYS[2], 'flush_before', now)
if length > 0 and not game[2] then
  redis.call('ZADD', KEYS[3], math.max(now, tonumber(game[3] or 0)), ARGV[1])
end
