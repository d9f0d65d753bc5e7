-- Counts items. The first part of every script that counts.
-- KEYS  2 game (hash), 4 total (hash)
-- ARGV  none of its own
-- Returns nothing.
local function count(field, n)
  if n ~= 0 then
    redis.call('HINCRBY', KEYS[2], field, n)
    redis.call('HINCRBY', KEYS[4], field, n)
  end
end
