-- Reserves names for a requester, unless they are reserved for another.
-- KEYS  1: list of the skeletons reserved for the requester, oldest first. 2...: the keys of
--       the names.
-- ARGV  1: requester. 2: time to live in ms. 3: maximum of names per requester. 4: prefix of
--       the keys of names. 5: "1" if several clients share the requester; then a name that
--       is already reserved for it counts as another client's. 6...: skeletons of the names,
--       in the order of KEYS 2...
-- Returns a list in this order: 1 for a name that is now reserved for the requester, else 0.
-- Above the maximum it releases the requester's oldest names; their keys are in the same slot.
local is_reserved = {}
for i = 2, #KEYS do
  local owner = redis.call('GET', KEYS[i])
  is_reserved[i - 1] = (not owner or owner == ARGV[1] and ARGV[5] ~= '1') and 1 or 0
  if is_reserved[i - 1] == 1 then
    redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2])
    redis.call('LREM', KEYS[1], 0, ARGV[i + 4])
    redis.call('RPUSH', KEYS[1], ARGV[i + 4])
  end
end
for _ = tonumber(ARGV[3]) + 1, redis.call('LLEN', KEYS[1]) do
  local oldest_key = ARGV[4] .. redis.call('LPOP', KEYS[1])
  if redis.call('GET', oldest_key) == ARGV[1] then
    redis.call('DEL', oldest_key)
  end
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return is_reserved
