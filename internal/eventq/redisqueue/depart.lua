-- Takes visits out, and their node with the last of them.
-- KEYS  1 visits of the node (hash: session to visit), 2 nodes with visits
--       (zset: node by when it was last seen)
-- ARGV  1 node, then sessions, which may be none
-- Returns how many visits of the node are left.
if #ARGV > 1 then
  redis.call('HDEL', KEYS[1], unpack(ARGV, 2))
end
local left = redis.call('HLEN', KEYS[1])
if left == 0 then
  redis.call('ZREM', KEYS[2], ARGV[1])
end
return left
