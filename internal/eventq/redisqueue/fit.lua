-- Functions for the first new items of a push. Runs after deduplicate.lua.
-- KEYS  as in deduplicate.lua
-- ARGV  as in deduplicate.lua
-- Returns nothing.

-- Returns the bundles of the first n items.
local function first_items(n)
  if n == new_count then
    return bundles
  end
  local chosen = {}
  for i = 1, #bundles, 2 do
    local size = size_of(bundles[i])
    if n > 0 and size > n then
      chosen[i], chosen[i + 1] = split(bundles[i], n), bundles[i + 1]
    elseif n > 0 then
      chosen[i], chosen[i + 1] = bundles[i], bundles[i + 1]
    end
    n = n - size
  end
  return chosen
end

-- Remembers the ids of the first n items.
local function remember_ids(n)
  for from = 1, n, 500 do
    local scored = {}
    for i = from, math.min(n, from + 499) do
      scored[#scored + 1] = ARGV[2]
      scored[#scored + 1] = new_ids[i]
    end
    redis.call('ZADD', KEYS[5], unpack(scored))
  end
  redis.call('PEXPIRE', KEYS[5], ARGV[11])
end
