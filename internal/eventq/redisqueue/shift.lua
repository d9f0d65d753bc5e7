-- Takes items off a queue. After lines.lua.
-- KEYS  as of game.lua
-- ARGV  none of its own
-- Returns nothing.

-- Takes the oldest n off, which must be there, and gives their bundles; none
-- where they need not be read.
local function shift(n, unread)
  local whole, more, head = reach(n)
  local taken = {}
  if unread and whole > 0 then
    redis.call('LTRIM', KEYS[1], 2 * whole, -1)
  elseif whole > 0 then
    taken = redis.call('LPOP', KEYS[1], 2 * whole)
  end
  first = nil
  if more > 0 then
    local part
    part, first = cut(head, more)
    redis.call('LSET', KEYS[1], 0, first)
    if not unread then
      taken[#taken + 1] = part
      taken[#taken + 1] = redis.call('LINDEX', KEYS[1], 1)
    end
  end
  length = length - n
  return taken
end

-- Forgets the ids of a bundle of items that are taken once.
local function forget(head, text)
  local size, skipped = string.match(head, '^(%d+) (%d+)')
  local ids, i = {}, 0
  for from in lines(text) do
    i = i + 1
    if i > tonumber(skipped) and #ids < tonumber(size) then
      ids[#ids + 1] = string.match(text, '^%S+ %S+ (%S*) ', from)
    end
  end
  redis.call('ZREM', KEYS[5], unpack(ids))
end

-- Drops the oldest n, which must be there.
local function drop_oldest(n, field)
  local dropped = shift(n, redis.call('EXISTS', KEYS[5]) == 0)
  for i = 1, #dropped, 2 do
    if string.find(dropped[i], 'p', 1, true) then
      forget(dropped[i], dropped[i + 1])
    end
  end
  count(field, n)
end
