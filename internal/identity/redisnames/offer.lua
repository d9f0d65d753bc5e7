-- offer: names are kept for an asker, unless they are kept for another.
-- KEYS 1: what the asker was offered, 2…: the keys of the names
-- ARGV 1: the asker, 2: for how many ms, 3: how many the asker may have, 4: what the keys of names
--   begin with, 5: 1 if several share the asker, and are offered nothing twice, 6…: their skeletons
-- Returns 1 for each name that is the asker's now, else 0. Beyond the bound the asker's oldest
-- ones are let go, which are in the slot of the game too.
local kept = {}
for i = 2, #KEYS do
  local whose = redis.call('GET', KEYS[i])
  kept[i - 1] = (not whose or whose == ARGV[1] and ARGV[5] ~= '1') and 1 or 0
  if kept[i - 1] == 1 then
    redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2])
    redis.call('LREM', KEYS[1], 0, ARGV[i + 4])
    redis.call('RPUSH', KEYS[1], ARGV[i + 4])
  end
end
for _ = tonumber(ARGV[3]) + 1, redis.call('LLEN', KEYS[1]) do
  local old = ARGV[4] .. redis.call('LPOP', KEYS[1])
  if redis.call('GET', old) == ARGV[1] then
    redis.call('DEL', old)
  end
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return kept
