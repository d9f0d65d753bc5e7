-- Adds a secret to the secrets of a key that are known to be right.
-- KEYS  1 sorted set of secrets, scored by the time in ms when each was last added
-- ARGV  1 now in epoch ms, 2 secret, 3 maximum of secrets (the newest stay),
--       4 time to live in ms
-- Returns 1.
local secrets = KEYS[1]
local now, secret, max_secrets, ttl = unpack(ARGV, 1, 4)
redis.call('ZADD', secrets, now, secret)
redis.call('ZREMRANGEBYRANK', secrets, 0, -1 - tonumber(max_secrets))
redis.call('PEXPIRE', secrets, ttl)
return 1
