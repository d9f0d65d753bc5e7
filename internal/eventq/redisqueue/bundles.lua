-- Functions for bundles, the elements of a queue. Runs after game.lua.
-- KEYS  as in game.lua
-- ARGV  none of its own
-- Returns nothing.
--
-- A bundle is two list elements: a header 'COUNT SKIPPED FLAG NEWEST OLDEST' and a
-- text with one line per item. The first SKIPPED lines do not count, the next COUNT
-- lines are the items. NEWEST and OLDEST say when items of the bundle were queued
-- (ms). They may be too wide after items were skipped or removed as duplicates.
-- Redis copies and hashes every text that a script reads. Therefore scripts read
-- only texts that leave the queue, and never cut a text. When a batch ends inside
-- a bundle, both parts keep the whole text and skip the lines of the other part.
-- Example: '5 0 s 9 4' without its first two items is '3 2 s 9 4'.
local function size_of(header)
  return tonumber(string.match(header, '^%d+'))
end

-- Returns the headers of the first n items of a bundle and of the rest.
local function split(header, n)
  local size, skipped, rest = string.match(header, '^(%d+) (%d+)(.*)$')
  return n .. ' ' .. skipped .. rest, (size - n) .. ' ' .. (skipped + n) .. rest
end

-- Returns the header of the oldest bundle.
local function read_oldest_header()
  oldest_header = oldest_header or redis.call('LINDEX', KEYS[1], 0)
  return oldest_header
end

-- Locates the oldest n items. Returns how many whole bundles they fill, how many
-- items of the next bundle belong to them, and the header of that bundle.
local function locate(n)
  local whole = 0
  while n > 0 do
    local header = whole == 0 and read_oldest_header() or redis.call('LINDEX', KEYS[1], 2 * whole)
    if not header or size_of(header) > n then
      return whole, header and n or 0, header
    end
    n, whole = n - size_of(header), whole + 1
  end
  return whole, 0
end
