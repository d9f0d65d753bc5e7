-- Ends a pause, before hurry.lua. After game.lua.
-- KEYS  as of game.lua
-- ARGV  none of its own
-- Returns nothing where there is no pause.
if redis.call('HDEL', KEYS[2], 'paused') == 0 then
  return
end
game[2] = false
