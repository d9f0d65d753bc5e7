-- Reserves names for a requester, unless they are reserved for another.
-- KEYS  1: list of the skeletons reserved for the requester, oldest first. 2...: the keys of
--       the names.
-- ARGV  1: requester. 2: time to live in ms. 3: maximum of names per requester. 4: prefix of
--       the keys of names. 5: "1" if several clients share the requester; then a name that
--       is already reserved for it counts as another client's. 6...: skeletons of the names,
--       in the order of KEYS 2...
-- Returns a list in this order: 1 for a name that is now reserved for the requester, else 0.
-- Above the maximum it releases the requester's oldest names; their keys are in the same slot.
local reserved_list = KEYS[1]
local requester, ttl, max_names, key_prefix, is_shared = unpack(ARGV, 1, 5)
local is_reserved = {}
for i = 2, #KEYS do
  local owner = redis.call('GET', KEYS[i])
  is_reserved[i - 1] = (not owner or owner == requester and is_shared ~= '1') and 1 or 0
  if is_reserved[i - 1] == 1 then
    redis.call('SET', KEYS[i], requester, 'PX', ttl)
    redis.call('LREM', reserved_list, 0, ARGV[i + 4])
    redis.call('RPUSH', reserved_list, ARGV[i + 4])
  end
end
for _ = tonumber(max_names) + 1, redis.call('LLEN', reserved_list) do
  local oldest_key = key_prefix .. redis.call('LPOP', reserved_list)
  if redis.call('GET', oldest_key) == requester then
    redis.call('DEL', oldest_key)
  end
end
redis.call('PEXPIRE', reserved_list, ttl)
return is_reserved
