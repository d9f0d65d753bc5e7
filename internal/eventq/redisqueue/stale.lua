-- What has become too old in a queue, as nothing is taken of it. After terms.lua.
-- KEYS  as of game.lua
-- ARGV  11 when an item was queued, at the latest, that is too old by now (ms)
-- Returns nothing.

-- How many of the oldest are, by whole bundles, 1000 at the most.
local function count_stale()
  local n, at = 0, 0
  while n < 1000 do
    local head = redis.call('LINDEX', KEYS[1], at)
    if not head or tonumber(string.match(head, '(%d+) %d+$')) > tonumber(ARGV[11]) then
      return n
    end
    n, at = n + size_of(head), at + 2
  end
  return 1000
end
