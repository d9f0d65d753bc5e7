-- Records that the result of a match is in the ledger and on the leaderboards,
-- so that its players can be notified.
-- KEYS  1 match (hash), 2 nodes (set)
-- ARGV  1 final ratings by player (JSON), '' if the match is not rated
-- Returns the nodes.
local match, nodes, ratings = KEYS[1], KEYS[2], ARGV[1]
if redis.call('EXISTS', match) == 1 then
  redis.call('HSET', match, 'notified', 1, 'ratings', ratings)
end
return redis.call('SMEMBERS', nodes)
