-- Marks a match as settled: its result is in the ledger. Its answers now wait for the
-- ledger. Its result is kept for some time, because the database may lose it. Keys that
-- were stored without an expiry until then get one.
-- KEYS  1 match (hash), 2 seq:{p} (hash), 3 result:{p} (hash), 4 tombstone (string),
--       5 unsaved:{p} (zset), 6 kept result (string), 7 settled:{p} (list), 8… keys that
--       may have no expiry
-- ARGV  1 match id, 2 time to live from now on (ms), 3 of the tombstone (ms),
--       4 1 if the result counts for leaderboards, else 0, 5 final ratings by
--       player (JSON), 6 how long to keep the result (ms), 7 how many kept results to list
-- Returns 1 if its result was waiting, else 0.
local match, seq_key, result_key, tombstone, unsaved, kept, settled = unpack(KEYS, 1, 7)
local id, ttl, tombstone_ttl, counts, ratings, keep, max_kept = unpack(ARGV)
redis.call('HDEL', seq_key, id, id .. '|v')
local exists = redis.call('EXISTS', match) == 1
if exists then
  redis.call('HSET', match, 'phase', 'settled')
  if counts == '1' then
    redis.call('HSET', match, 'counted', 1, 'ratings', ratings)
  end
end
for i = 8, #KEYS do
  redis.call('PEXPIRE', KEYS[i], ttl, 'NX')
end
local result = redis.call('HGET', result_key, id)
if not result then
  return 0
end
redis.call('HDEL', result_key, id)
redis.call('SET', kept, result, 'PX', keep)
redis.call('LPUSH', settled, id)
redis.call('LTRIM', settled, 0, max_kept - 1)
redis.call('PEXPIRE', settled, keep)
if exists then
  redis.call('ZADD', unsaved, 0, id)
end
redis.call('SET', tombstone, 'over', 'PX', tombstone_ttl)
return 1
