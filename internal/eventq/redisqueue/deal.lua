-- Divides bundles among batches. Runs after bundles.lua.
-- KEYS  none of its own
-- ARGV  none of its own
-- Returns nothing.

-- Returns a function that removes the first n items from the bundles and returns
-- the bundles of those items.
local function new_dealer(bundles)
  local position, header = 1, bundles[1]
  return function(n)
    local dealt = {}
    while n > 0 do
      local size, part = size_of(header), header
      if size > n then
        part, header = split(header, n)
      else
        header = bundles[position + 2]
      end
      dealt[#dealt + 1] = part
      dealt[#dealt + 1] = bundles[position + 1]
      position = size > n and position or position + 2
      n = n - size
    end
    return dealt
  end
end
