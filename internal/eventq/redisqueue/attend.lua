-- Notes visits at a node.
-- KEYS  1 visits of the node (hash: session to visit), 2 nodes with visits
--       (zset: node by when it was last seen, epoch ms)
-- ARGV  1 node, 2 when it was seen (epoch ms), 3 time to live of 1 (ms), then
--       for each visit: session, visit
-- Returns 1.
redis.call('HSET', KEYS[1], unpack(ARGV, 4))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('ZADD', KEYS[2], 'GT', ARGV[2], ARGV[1])
return 1
