-- Cuts around an entry, for page.lua: half the limit before it, cut at the ends.
-- KEYS  as ready.lua, which it follows
-- ARGV  1 limit, 1 to 200; 2 id
-- Returns what ready.lua read, alone, where the ranking has no such entry.
-- Otherwise it leaves start and stop, indexes from 0.
local packed = redis.call('HGET', KEYS[3], ARGV[2])
local index = packed and redis.call('ZRANK', ranking, string.sub(packed, 1, 16) .. ':' .. ARGV[2])
if not index then
  return { read }
end
local first = index - math.floor(tonumber(ARGV[1]) / 2)
local start = math.max(0, first)
local stop = first + tonumber(ARGV[1]) - 1
