-- Removes a pairing whose match has been created.
-- KEYS  1 pairings (hash), 2 alive (zset)
-- ARGV  1 match id, 2… ids of its tickets
-- Returns 1 if the pairing existed, else 0.
if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then
  return 0
end
redis.call('ZREM', KEYS[2], unpack(ARGV, 2))
return 1
