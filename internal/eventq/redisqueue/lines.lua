-- The lines of a text.
-- KEYS  none of its own
-- ARGV  none of its own
-- Returns nothing.

-- Walks a text: gives where each line begins and ends.
local function lines(text)
  local till = 0
  return function()
    local from = till + 1
    till = string.find(text, '\n', from, true)
    return till and from, till
  end
end
