-- Takes items off a queue. After bundles.lua.
-- KEYS  as of game.lua
-- ARGV  none of its own
-- Returns nothing.

-- Takes the oldest n off, which must be there, and gives their bundles; those
-- that are whole are left out where they need not be read.
local function shift(n, unread)
  local whole, more, head = reach(n)
  local taken = {}
  if unread then
    redis.call('LTRIM', KEYS[1], 2 * whole, -1)
  elseif whole > 0 then
    taken = redis.call('LPOP', KEYS[1], 2 * whole)
  end
  if more > 0 then
    local first, part, left, rest = cut(head, redis.call('LINDEX', KEYS[1], 1), more)
    redis.call('LSET', KEYS[1], 0, left)
    redis.call('LSET', KEYS[1], 1, rest)
    taken[#taken + 1] = first
    taken[#taken + 1] = part
  end
  length = length - n
  return taken
end

-- Forgets the ids of a bundle of posted items.
local function forget(text)
  local ids = {}
  for from in lines(text) do
    ids[#ids + 1] = string.match(text, '^%S+ %S+ (%S*) ', from)
  end
  redis.call('ZREM', KEYS[5], unpack(ids))
end

-- Drops the oldest n, which must be there, 1000 at the most.
local function drop_oldest(n, field)
  local dropped = shift(n, redis.call('EXISTS', KEYS[5]) == 0)
  for i = 1, #dropped, 2 do
    if string.find(dropped[i], 'p', 1, true) then
      forget(dropped[i + 1])
    end
  end
  count(field, n)
end
