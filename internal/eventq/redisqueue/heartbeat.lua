-- Records that a node is alive.
-- KEYS  1 nodes (zset: node by its last heartbeat, epoch ms)
-- ARGV  1 node, 2 now (ms), 3 the oldest and 4 the latest heartbeat of a node that
--       is alive (ms); 4 lies ahead of now, as clocks of nodes differ
-- Returns the nodes that are alive. A heartbeat after ARGV[4] comes from a clock
-- that was set back later. The script removes it: otherwise a dead node would count
-- as alive until that time.
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '(' .. ARGV[4], '+inf')
return redis.call('ZRANGE', KEYS[1], 0, -1)
