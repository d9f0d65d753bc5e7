-- Deals bundles out to batches. After bundles.lua.
-- KEYS  none of its own
-- ARGV  none of its own
-- Returns nothing.

-- Gives a function that takes the first n items off bundles, and gives theirs.
local function dealer(bundles)
  local at, head = 1, bundles[1]
  return function(n)
    local dealt = {}
    while n > 0 do
      local size, part = size_of(head), head
      if size > n then
        part, head = cut(head, n)
      else
        head = bundles[at + 2]
      end
      dealt[#dealt + 1] = part
      dealt[#dealt + 1] = bundles[at + 1]
      at = size > n and at or at + 2
      n = n - size
    end
    return dealt
  end
end
