-- Marks a match as settled: its result is in the ledger. Its answers now wait for the
-- ledger. Keys that were stored without an expiry until then get one.
-- KEYS  1 match (hash), 2 seq:{p} (hash), 3 result:{p} (hash), 4 tombstone (string),
--       5 unsaved:{p} (zset), 6… keys that may have no expiry
-- ARGV  1 match id, 2 time to live from now on (ms), 3 of the tombstone (ms),
--       4 1 if the result counts for leaderboards, else 0, 5 final ratings by
--       player (JSON)
-- Returns 1 if its result was waiting, else 0.
local match, seq_key, result_key, tombstone, unsaved = unpack(KEYS, 1, 5)
local id, ttl, tombstone_ttl, counts, ratings = unpack(ARGV)
redis.call('HDEL', seq_key, id, id .. '|v')
local exists = redis.call('EXISTS', match) == 1
if exists then
  redis.call('HSET', match, 'phase', 'settled')
  if counts == '1' then
    redis.call('HSET', match, 'counted', 1, 'ratings', ratings)
  end
end
for i = 6, #KEYS do
  if redis.call('PTTL', KEYS[i]) == -1 then
    redis.call('PEXPIRE', KEYS[i], ttl)
  end
end
if redis.call('HDEL', result_key, id) == 0 then
  return 0
end
if exists then
  redis.call('ZADD', unsaved, 0, id)
end
redis.call('SET', tombstone, 'over', 'PX', tombstone_ttl)
return 1
