-- Marks a match as settled: its result is in the ledger. Keys that were
-- stored without an expiry until then get one.
-- KEYS  1 match (hash), 2 seq:{p} (hash), 3 result:{p} (hash), 4 tombstone (string),
--       5… keys that may have no expiry
-- ARGV  1 match id, 2 time to live from now on (ms), 3 of the tombstone (ms)
-- Returns 1 if its result was waiting, else 0.
redis.call('HDEL', KEYS[2], ARGV[1], ARGV[1] .. '|v')
if redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('HSET', KEYS[1], 'phase', 'settled')
end
for i = 5, #KEYS do
  if redis.call('PTTL', KEYS[i]) == -1 then
    redis.call('PEXPIRE', KEYS[i], ARGV[2])
  end
end
if redis.call('HDEL', KEYS[3], ARGV[1]) == 0 then
  return 0
end
redis.call('SET', KEYS[4], 'over', 'PX', ARGV[3])
return 1
