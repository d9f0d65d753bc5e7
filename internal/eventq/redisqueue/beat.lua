-- Notes that a node lives.
-- KEYS  1 nodes (zset)
-- ARGV  1 node, 2 now (ms), 3 and 4 when those alive have said so (ms): at the
--       earliest, and at the latest, as their clocks may be ahead
-- Returns the nodes alive. What a clock wrote that has gone back since is of
-- none: or a dead node would live until then.
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '(' .. ARGV[4], '+inf')
return redis.call('ZRANGE', KEYS[1], 0, -1)
