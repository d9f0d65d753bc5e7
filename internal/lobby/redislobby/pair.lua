-- Moves tickets to a pairing, if all of them still wait.
-- KEYS  1 tickets (hash), 2 waiting (zset), 3 alive (zset), 4 pairings (hash),
--       5… busy (string) of each ticket's player
-- ARGV  1 match id, 2 pairing (JSON), 3 time to live of busy (ms),
--       4… ticket ids, in the order of the busy keys
-- Returns 1 where they were moved, also when asked again; else 0.
if redis.call('HEXISTS', KEYS[4], ARGV[1]) == 1 then
  return 1
end
for i = 4, #ARGV do
  if not redis.call('ZSCORE', KEYS[2], ARGV[i]) then
    return 0
  end
end
for i = 4, #ARGV do
  redis.call('HDEL', KEYS[1], ARGV[i])
  redis.call('ZREM', KEYS[2], ARGV[i])
  redis.call('ZREM', KEYS[3], ARGV[i])
  redis.call('SET', KEYS[i + 1], 'match:' .. ARGV[1], 'PX', ARGV[3])
end
redis.call('HSET', KEYS[4], ARGV[1], ARGV[2])
return 1
