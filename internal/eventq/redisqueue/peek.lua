-- Reads the oldest items.
-- KEYS  1 queue (list)
-- ARGV  1 how many at the least, where they are there
-- Returns their bundles.
local whole, items = 0, 0
while items < tonumber(ARGV[1]) do
  local head = redis.call('LINDEX', KEYS[1], 2 * whole)
  if not head then
    break
  end
  whole, items = whole + 1, items + tonumber(string.match(head, '^%d+'))
end
return whole > 0 and redis.call('LRANGE', KEYS[1], 0, 2 * whole - 1) or {}
