-- What has become too old in a queue, as nothing is taken of it. After terms.lua.
-- KEYS  as of game.lua
-- ARGV  11 when an item was queued, at the latest, that is too old by now (ms)
-- Returns nothing.

-- How many of the oldest are, 1000 at the most.
local function count_stale()
  local n, at = 0, 1
  while n < 1000 do
    local text = redis.call('LINDEX', KEYS[1], at)
    if not text then
      return n
    end
    for from in lines(text) do
      if tonumber(string.match(text, '^%d+', from)) > tonumber(ARGV[11]) then
        return n
      end
      n = n + 1
    end
    at = at + 2
  end
  return 1000
end
