-- Writes a new match with its deadline and, if there is one, its first push.
-- Does nothing if the id exists or existed before.
-- KEYS  1 match (hash), 2 plan (string), 3 log (list), 4 due:{p} (zset),
--       5 seq:{p} (hash), 6 tombstone (string)
-- ARGV  1 match id, 2 attempt id, 3 plan (JSON), 4 due at (ms, 0 for never),
--       5 time to live (ms), 6 the frame of push 1, '' for none,
--       7… field, value, … of the match
-- Returns 1 if the match was written, also for a repeated attempt; else 0.
if redis.call('EXISTS', KEYS[1], KEYS[6]) > 0 then
  return redis.call('HGET', KEYS[1], 'made') == ARGV[2] and 1 or 0
end
local seq = 0
if ARGV[6] ~= '' then
  seq = redis.call('RPUSH', KEYS[3], ARGV[6])
end
redis.call('HSET', KEYS[1], 'made', ARGV[2], 'seq', seq, 'version', 1, unpack(ARGV, 7))
redis.call('SET', KEYS[2], ARGV[3])
for i = 1, 3 do
  redis.call('PEXPIRE', KEYS[i], ARGV[5])
end
if ARGV[4] ~= '0' then
  redis.call('ZADD', KEYS[4], ARGV[4], ARGV[1])
end
redis.call('HSET', KEYS[5], ARGV[1], seq, ARGV[1] .. '|v', 1)
return 1
