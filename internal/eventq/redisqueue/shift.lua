-- Removes items from the head of a queue. Runs after lines.lua.
-- KEYS  as in game.lua
-- ARGV  none of its own
-- Returns nothing.

-- Removes the oldest n items, which must exist. Returns their bundles, or an empty
-- table if unread is true.
local function shift(n, unread)
  local whole, more, header = locate(n)
  local removed = {}
  if unread and whole > 0 then
    redis.call('LTRIM', KEYS[1], 2 * whole, -1)
  elseif whole > 0 then
    removed = redis.call('LPOP', KEYS[1], 2 * whole)
  end
  oldest_header = nil
  if more > 0 then
    local part
    part, oldest_header = split(header, more)
    redis.call('LSET', KEYS[1], 0, oldest_header)
    if not unread then
      removed[#removed + 1] = part
      removed[#removed + 1] = redis.call('LINDEX', KEYS[1], 1)
    end
  end
  length = length - n
  return removed
end

-- Forgets the ids of a bundle of unique items.
local function forget_ids(header, text)
  local size, skipped = string.match(header, '^(%d+) (%d+)')
  local ids, i = {}, 0
  for from in lines(text) do
    i = i + 1
    if i > tonumber(skipped) and #ids < tonumber(size) then
      ids[#ids + 1] = string.match(text, '^%S+ %S+ (%S*) ', from)
    end
  end
  redis.call('ZREM', KEYS[5], unpack(ids))
end

-- Drops the oldest n items, which must exist, and counts them.
local function drop_oldest(n, field)
  local dropped = shift(n, redis.call('EXISTS', KEYS[5]) == 0)
  for i = 1, #dropped, 2 do
    if string.find(dropped[i], 'p', 1, true) then
      forget_ids(dropped[i], dropped[i + 1])
    end
  end
  count(field, n)
end
