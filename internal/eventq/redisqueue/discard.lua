-- Drops the oldest items. After shift.lua.
-- KEYS  6 once (string)
-- ARGV  3 how many at the most, 4 their counter, 5 how long the answer is kept (ms)
-- Returns how many, also when run again.
local before = redis.call('GET', KEYS[6])
if before then
  return tonumber(before)
end
local dropped = math.min(length, tonumber(ARGV[3]))
if dropped > 0 then
  drop_oldest(dropped, ARGV[4])
  save()
end
if length == 0 then
  redis.call('ZREM', KEYS[3], ARGV[1])
end
redis.call('SET', KEYS[6], dropped, 'PX', ARGV[5])
return dropped
