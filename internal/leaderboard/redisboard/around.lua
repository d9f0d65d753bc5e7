-- Selects the entries around an entry, for page.lua. It starts half the limit before the entry, but not before the ranking's start.
-- KEYS  those of ready.lua, which runs before.
-- ARGV  1 limit, 1 to 200; 2 id of the entry.
-- Returns only the state that ready.lua read if the ranking does not have the entry.
-- Otherwise it sets start and stop, indexes from 0.
local packed = redis.call('HGET', KEYS[3], ARGV[2])
local index = packed and redis.call('ZRANK', ranking, string.sub(packed, 1, 16) .. ':' .. ARGV[2])
if not index then
  return { board_state }
end
local first = index - math.floor(tonumber(ARGV[1]) / 2)
local start = math.max(0, first)
local stop = first + tonumber(ARGV[1]) - 1
