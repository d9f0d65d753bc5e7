-- vouch: keeps a secret among those that a key is known to have.
-- KEYS 1: the secrets, by when they were last shown
-- ARGV 1: now, ms, 2: the secret, 3: how many are kept, the newest, 4: for how long after the last, ms
-- Returns 1.
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - tonumber(ARGV[3]))
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
