-- Bundles, the elements of a queue: the number of items, then one line per item,
-- 'QUEUED_AT AT FLAG ID BODY' (times in ms; flag u: unique, o: other). A message that
-- was tried is one bundle. Its number of items is followed by ' ID ATTEMPTS'.
-- KEYS  none of its own
-- ARGV  none of its own
-- Returns nothing.

-- Puts a bundle back. The queue may be a new key, if this was its last bundle.
local function put_back(queue, bundle, ttl)
  redis.call('LPUSH', queue, bundle)
  if ttl > 0 then redis.call('PEXPIRE', queue, ttl) end
end

-- Removes the oldest n items, which must exist. Returns their bundles and their number,
-- which is smaller if tried messages must be removed alone.
local function pop(queue, n, alone)
  local bundles, popped, ttl = {}, 0, redis.call('PTTL', queue)
  while popped < n do
    local bundle = redis.call('LPOP', queue)
    local size, tried = string.match(bundle, '^(%d+)([^\n]*)')
    size = tonumber(size)
    if alone and tried ~= '' then
      if popped == 0 then return {bundle}, size end
      put_back(queue, bundle, ttl)
      return bundles, popped
    end
    if size > n - popped then -- divide it
      local first = string.find(bundle, '\n', 1, true)
      local last = first
      for _ = 1, n - popped do last = string.find(bundle, '\n', last + 1, true) end
      put_back(queue, size - n + popped .. tried .. string.sub(bundle, last), ttl)
      bundle, size = n - popped .. string.sub(bundle, first, last), n - popped
    end
    bundles[#bundles + 1] = bundle
    popped = popped + size
  end
  return bundles, popped
end
