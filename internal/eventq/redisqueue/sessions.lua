-- Adds sessions of a node, then removes ended ones, and records when the node was seen.
-- The node goes with its last session.
-- KEYS  1 sessions of the node (hash: session id to record), 2 nodes with sessions
--       (zset: node by when it was last seen)
-- ARGV  1 node, 2 when it was seen (ms), 3 time to live of the sessions (ms), 4 how many
--       are added, then their ids and records in turn, then the ids of ended ones
-- Returns nothing.
local ended_at = 5 + 2 * tonumber(ARGV[4])
if ended_at > 5 then redis.call('HSET', KEYS[1], unpack(ARGV, 5, ended_at - 1)) end
if #ARGV >= ended_at then redis.call('HDEL', KEYS[1], unpack(ARGV, ended_at)) end
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('ZREM', KEYS[2], ARGV[1])
else
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  redis.call('ZADD', KEYS[2], 'GT', ARGV[2], ARGV[1])
end
