-- Adds a secret to the secrets of a key that are known to be right.
-- KEYS  1 sorted set of secrets, scored by the time in ms when each was last added
-- ARGV  1 now in epoch ms, 2 secret, 3 maximum of secrets (the newest stay),
--       4 time to live in ms
-- Returns 1.
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - tonumber(ARGV[3]))
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
