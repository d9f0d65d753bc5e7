-- Drops the oldest items. Runs after shift.lua.
-- KEYS  6 reply (string)
-- ARGV  3 the largest number of items, 4 their counter, 5 time to live of the
--       reply (ms)
-- Returns how many items it dropped; the same when it runs again.
local stored = redis.call('GET', KEYS[6])
if stored then
  return tonumber(stored)
end
local dropped = math.min(length, tonumber(ARGV[3]))
if dropped > 0 then
  drop_oldest(dropped, ARGV[4])
  save_fields()
end
if length == 0 then
  redis.call('ZREM', KEYS[3], ARGV[1])
end
redis.call('SET', KEYS[6], dropped, 'PX', ARGV[5])
return dropped
