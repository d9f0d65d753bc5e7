-- Removes sessions of a node. The node goes with its last session.
-- KEYS  1 sessions of the node (hash: session id to record), 2 nodes with sessions
--       (zset: node by when it was last seen)
-- ARGV  1 node, then session ids; there may be none
-- Returns how many sessions of the node are left.
if #ARGV > 1 then
  redis.call('HDEL', KEYS[1], unpack(ARGV, 2))
end
local left = redis.call('HLEN', KEYS[1])
if left == 0 then
  redis.call('ZREM', KEYS[2], ARGV[1])
end
return left
