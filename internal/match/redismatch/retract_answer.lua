-- Retracts the unrevealed answer of a player who leaves a survival match. The
-- question counts only for the players who stay. The lock and the record are not
-- deleted, so that the player cannot answer again. Runs after forfeit_place.lua.
-- KEYS  as of remove_place.lua
-- ARGV  as of remove_place.lua
-- Returns as add_seat.lua.
local r = cjson.decode(redis.call('HGET', KEYS[12], m[2] .. '|' .. ARGV[2]))
local survived = m[6] + 1
redis.call('HINCRBY', KEYS[1], 'answered', -1)
if r.correct then
  score, correct, saved = score - r.points, correct - 1, saved - r.saved_ms
  redis.call('HINCRBY', KEYS[1], 'right', -1)
  redis.call('ZADD', KEYS[7], string.format('%.0f', survived * 1e9 + saved - 1e15), ARGV[2])
  redis.call('ZADD', KEYS[8], string.format('%.0f', survived * 1e6 + score - 1e15), ARGV[2])
  if team ~= '' then
    redis.call('HINCRBY', KEYS[6], 'score|' .. team, string.format('%.0f', 0 - r.points))
  end
end
redis.call('HSET', KEYS[5], ARGV[2],
  string.format('%.0f %.0f %.0f %.0f %.0f %.0f', score + 0, correct + 0, count - 1, saved + 0, survived, survived))
return reply('left')
