-- Marks a match as settled: its result is in the ledger.
-- KEYS  1 match (hash), 2 seq:{p} (hash), 3 result:{p} (hash)
-- ARGV  1 match id
-- Returns 1 where its result was waiting, else 0.
redis.call('HDEL', KEYS[2], ARGV[1])
if redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('HSET', KEYS[1], 'phase', 'settled')
end
return redis.call('HDEL', KEYS[3], ARGV[1])
