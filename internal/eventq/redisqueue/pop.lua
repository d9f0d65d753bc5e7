-- Bundles, the elements of a queue: the number of items, then one line per item,
-- 'QUEUED_AT AT FLAG ID BODY' (times in ms; flag u: unique, o: other).
-- KEYS  none of its own
-- ARGV  none of its own
-- Returns nothing.
local function size_of(bundle) return tonumber(string.match(bundle, '^%d+')) end

-- Removes the oldest n items, which must exist, and returns their bundles.
local function pop(queue, n)
  local bundles, ttl = {}, redis.call('PTTL', queue)
  while n > 0 do
    local bundle = redis.call('LPOP', queue)
    local size = size_of(bundle)
    if size > n then -- divide it after n lines
      local first = string.find(bundle, '\n', 1, true)
      local last = first
      for _ = 1, n do last = string.find(bundle, '\n', last + 1, true) end
      redis.call('LPUSH', queue, (size - n) .. string.sub(bundle, last))
      redis.call('PEXPIRE', queue, ttl)
      bundle, size = n .. string.sub(bundle, first, last), n
    end
    bundles[#bundles + 1] = bundle
    n = n - size
  end
  return bundles
end
