-- Moves tickets to a pairing if all of them still wait. Their nodes continue to extend
-- their lives in alive.
-- KEYS  1 tickets (hash), 2 waiting (zset), 3 pairings (hash), 4… busy (string)
--       of each ticket's player, then last duel (string) of each
-- ARGV  1 match id, 2 pairing (JSON), 3 time to live of busy (ms),
--       4… ticket ids, in the order of the busy keys
-- Returns 1 if the tickets were moved by this call or by an earlier one; else 0.
if redis.call('HEXISTS', KEYS[3], ARGV[1]) == 1 then
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
  redis.call('SET', KEYS[i], 'match:' .. ARGV[1], 'PX', ARGV[3])
  redis.call('SET', KEYS[i + #ARGV - 3], ARGV[1], 'PX', ARGV[3])
end
redis.call('HSET', KEYS[3], ARGV[1], ARGV[2])
return 1
