-- Counts items that became too old in the queue. Runs after policy.lua.
-- KEYS  as in game.lua
-- ARGV  11 items queued at this time or earlier are too old (ms)
-- Returns nothing.

-- Returns how many of the oldest items are too old, in whole bundles, at most 1000.
local function count_stale()
  local n, position = 0, 0
  while n < 1000 do
    local header = redis.call('LINDEX', KEYS[1], position)
    if not header or tonumber(string.match(header, '(%d+) %d+$')) > tonumber(ARGV[11]) then
      return n
    end
    n, position = n + size_of(header), position + 2
  end
  return 1000
end
