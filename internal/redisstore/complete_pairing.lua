-- Removes a pairing whose match has been created.
-- KEYS  1 pairings (hash), 2 alive (zset)
-- ARGV  1 match id, 2… ids of its tickets
-- Returns 1 if the pairing existed, else 0.
local pairings, alive = KEYS[1], KEYS[2]
local match_id = ARGV[1]
if redis.call('HDEL', pairings, match_id) == 0 then
  return 0
end
redis.call('ZREM', alive, unpack(ARGV, 2))
return 1
