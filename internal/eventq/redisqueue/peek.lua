-- Reads the oldest items.
-- KEYS  1 queue (list)
-- ARGV  1 how many items to read; the last bundle may bring more
-- Returns their bundles.
local whole, items = 0, 0
while items < tonumber(ARGV[1]) do
  local header = redis.call('LINDEX', KEYS[1], 2 * whole)
  if not header then
    break
  end
  whole, items = whole + 1, items + tonumber(string.match(header, '^%d+'))
end
return whole > 0 and redis.call('LRANGE', KEYS[1], 0, 2 * whole - 1) or {}
