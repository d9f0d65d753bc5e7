-- Records sessions of a node.
-- KEYS  1 sessions of the node (hash: session id to record), 2 nodes with sessions
--       (zset: node by when it was last seen, epoch ms)
-- ARGV  1 node, 2 when the node was seen (epoch ms), 3 time to live of KEYS[1] (ms),
--       then for each session: id, record
-- Returns 1.
redis.call('HSET', KEYS[1], unpack(ARGV, 4))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('ZADD', KEYS[2], 'GT', ARGV[2], ARGV[1])
return 1
