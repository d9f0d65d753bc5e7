-- Writes a new match, its first push and its deadline, if there is none yet.
-- KEYS  1 match (hash), 2 log (list), 3 due:{p} (zset), 4 seq:{p} (hash)
-- ARGV  1 match id, 2 due at (ms), 3 time to live (ms), 4 the frame of push 1,
--       5… field, value, … of the match
-- Returns 1 where it was written, 0 where it was there.
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 0
end
redis.call('HSET', KEYS[1], unpack(ARGV, 5))
redis.call('RPUSH', KEYS[2], ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
redis.call('ZADD', KEYS[3], ARGV[2], ARGV[1])
redis.call('HSET', KEYS[4], ARGV[1], 1)
return 1
