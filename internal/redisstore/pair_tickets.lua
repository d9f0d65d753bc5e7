-- Moves tickets to a pairing if all of them still wait. Their nodes continue to extend
-- their lives in alive.
-- KEYS  1 tickets (hash), 2 waiting (zset), 3 pairings (hash), 4… busy (string)
--       of each ticket's player, then last duel (string) of each
-- ARGV  1 match id, 2 pairing (JSON), 3 time to live of busy (ms),
--       4… ticket ids, in the order of the busy keys
-- Returns 1 if the tickets were moved by this call or by an earlier one; else 0.
local tickets, waiting, pairings = unpack(KEYS, 1, 3)
local match_id, pairing, busy_ttl = unpack(ARGV, 1, 3)
if redis.call('HEXISTS', pairings, match_id) == 1 then
  return 1
end
for i = 4, #ARGV do
  if not redis.call('ZSCORE', waiting, ARGV[i]) then
    return 0
  end
end
for i = 4, #ARGV do
  redis.call('HDEL', tickets, ARGV[i])
  redis.call('ZREM', waiting, ARGV[i])
  redis.call('SET', KEYS[i], 'match:' .. match_id, 'PX', busy_ttl)
  redis.call('SET', KEYS[i + #ARGV - 3], match_id, 'PX', busy_ttl)
end
redis.call('HSET', pairings, match_id, pairing)
return 1
