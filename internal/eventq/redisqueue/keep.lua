-- Rids a queue of what is too old or beyond its bound, by a step, and marks when
-- it is due. After stale.lua.
-- KEYS  as of game.lua
-- ARGV  as of stale.lua, 9 the longest cool-down, 10 how far clocks are apart (ms)
-- Returns how many there may be to drop yet. An instant that lies further ahead
-- is of a clock that has gone back since: it is made now, or nothing would leave
-- until it comes.
if tonumber(game[3] or 0) > now + tonumber(ARGV[9]) then
  game[3] = ARGV[2]
  write('cool_until', ARGV[2])
end
if tonumber(game[4] or 0) > now + tonumber(ARGV[10]) then
  game[4] = nil
  redis.call('HDEL', KEYS[2], 'hurried')
end
if tokens_at > now + tonumber(ARGV[10]) then
  tokens_at = now
  spend(0)
end
local stale = count_stale()
if stale > 0 then
  drop_oldest(stale, 'd:too_old')
end
shrink()
mark()
save()
return math.max(0, length - bound, stale - 999)
