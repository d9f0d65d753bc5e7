-- The first of the fresh items of a push. After fresh.lua.
-- KEYS  as of fresh.lua
-- ARGV  as of fresh.lua
-- Returns nothing.

-- The bundles of the first n.
local function fitting(n)
  if n == fresh then
    return pushes
  end
  local fit = {}
  for at = 1, #pushes, 2 do
    local size = size_of(pushes[at])
    if n > 0 and size > n then
      fit[at], fit[at + 1] = cut(pushes[at], n), pushes[at + 1]
    elseif n > 0 then
      fit[at], fit[at + 1] = pushes[at], pushes[at + 1]
    end
    n = n - size
  end
  return fit
end

-- Remembers the ids of the first n.
local function remember(n)
  for at = 1, n, 500 do
    local scored = {}
    for i = at, math.min(n, at + 499) do
      scored[#scored + 1] = ARGV[2]
      scored[#scored + 1] = ids[i]
    end
    redis.call('ZADD', KEYS[5], unpack(scored))
  end
  redis.call('PEXPIRE', KEYS[5], ARGV[11])
end
