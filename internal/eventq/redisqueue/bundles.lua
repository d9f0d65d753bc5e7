-- What a queue holds. After game.lua.
-- KEYS  as of game.lua
-- ARGV  none of its own
-- Returns nothing. A bundle is two elements of a list: a head 'COUNT SKIPPED FLAG
-- NEWEST OLDEST', and a text, which holds COUNT items after SKIPPED others, a line
-- each. The last two are when its items were queued, as far as is known once some
-- were skipped or sifted out. Redis copies a text many times and reckons a
-- hash of every byte that a script reads: texts are read only where they leave,
-- and never cut. Where a batch ends within a bundle, both parts have all of its
-- text, and skip what is the other's.
local function size_of(head)
  return tonumber(string.match(head, '^%d+'))
end

-- The heads of the first n items of a bundle, and of what is left.
local function cut(head, n)
  local size, skipped, rest = string.match(head, '^(%d+) (%d+)(.*)$')
  return n .. ' ' .. skipped .. rest, (size - n) .. ' ' .. (skipped + n) .. rest
end

-- The head of the oldest bundle.
local function oldest()
  first = first or redis.call('LINDEX', KEYS[1], 0)
  return first
end

-- How many bundles are of the oldest n items, how many items of the next one are,
-- and the head of that.
local function reach(n)
  local whole = 0
  while n > 0 do
    local head = whole == 0 and oldest() or redis.call('LINDEX', KEYS[1], 2 * whole)
    if not head or size_of(head) > n then
      return whole, head and n or 0, head
    end
    n, whole = n - size_of(head), whole + 1
  end
  return whole, 0
end
