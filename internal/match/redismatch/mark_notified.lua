-- Records that the result of a match is in the ledger and on the leaderboards,
-- so that its players can be notified.
-- KEYS  1 match (hash), 2 nodes (set)
-- ARGV  1 final ratings by player (JSON), '' if the match is not rated
-- Returns the nodes.
if redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('HSET', KEYS[1], 'notified', 1, 'ratings', ARGV[1])
end
return redis.call('SMEMBERS', KEYS[2])
