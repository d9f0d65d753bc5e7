-- Splits a text into lines.
-- KEYS  none of its own
-- ARGV  none of its own
-- Returns nothing.

-- Returns an iterator over the first and last byte of each line.
local function lines(text)
  local to = 0
  return function()
    local from = to + 1
    to = string.find(text, '\n', from, true)
    return to and from, to
  end
end
