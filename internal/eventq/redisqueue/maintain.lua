-- Drops items that are too old or above the length limit, by one step, and marks
-- when the queue is due. Runs after stale.lua.
-- KEYS  as in game.lua
-- ARGV  as in stale.lua, 9 the longest cool-down (ms), 10 the largest difference
--       between clocks (ms)
-- Returns how many items may still have to be dropped. A stored time that lies
-- further ahead comes from a clock that was set back later. The script replaces it
-- by now: otherwise nothing would leave the queue until that time.
if tonumber(game[3] or 0) > now + tonumber(ARGV[9]) then
  game[3] = ARGV[2]
  set_field('cool_until', ARGV[2])
end
if tonumber(game[4] or 0) > now + tonumber(ARGV[10]) then
  game[4] = nil
  redis.call('HDEL', KEYS[2], 'flush_before')
end
if tokens_at > now + tonumber(ARGV[10]) then
  tokens_at = now
  spend_tokens(0)
end
local stale = count_stale()
if stale > 0 then
  drop_oldest(stale, 'd:too_old')
end
shrink()
mark_due()
save_fields()
return math.max(0, length - max_len, stale - 999)
