-- What a queue holds. After game.lua.
-- KEYS  as of game.lua
-- ARGV  none of its own
-- Returns nothing. A bundle is two elements of a list: a head 'COUNT FLAG
-- QUEUED_AT', the last of its oldest item, and a text, a line an item, each with
-- its line feed. Redis reckons a hash of every byte that a script reads: texts
-- are read only where they leave or are cut.
local function size_of(head)
  return tonumber(string.match(head, '^%d+'))
end

-- Walks the lines of a text: gives where each begins and ends.
local function lines(text)
  local till = 0
  return function()
    local from = till + 1
    till = string.find(text, '\n', from, true)
    return till and from, till
  end
end

-- A bundle of lines, as of a head.
local function bundle(head, n, text)
  local flag, queued_at = string.match(head, ' %a '), string.match(text, '^%d+')
  return n .. flag .. queued_at, text
end

-- The first n items of a bundle, and what is left of it.
local function cut(head, text, n)
  local walk, till = lines(text)
  for _ = 1, n do
    _, till = walk()
  end
  local first, part = bundle(head, n, string.sub(text, 1, till))
  return first, part, bundle(head, size_of(head) - n, string.sub(text, till + 1))
end

-- How many bundles are of the oldest n items, how many items of the next one are,
-- and the head of that.
local function reach(n)
  local whole = 0
  while n > 0 do
    local head = redis.call('LINDEX', KEYS[1], 2 * whole)
    if not head or size_of(head) > n then
      return whole, head and n or 0, head
    end
    n, whole = n - size_of(head), whole + 1
  end
  return whole, 0
end
