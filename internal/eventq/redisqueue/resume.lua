-- Ends a pause. Runs after game.lua and before flush_now.lua.
-- KEYS  as in game.lua
-- ARGV  none of its own
-- Returns nothing. The script ends here if the game is not paused.
if redis.call('HDEL', KEYS[2], 'paused') == 0 then
  return
end
game[2] = false
