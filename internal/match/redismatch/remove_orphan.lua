-- Removes a match that no node can read, unless it is over, or its
-- deadline has moved because another node advanced it.
-- KEYS  1 match (hash), 2 due:{p} (zset), 3 seq:{p} (hash), 4 tombstone (string),
--       5… the other keys of the match
-- ARGV  1 match id, 2 time before which its deadline must be (ms),
--       3 time to live of the tombstone (ms)
-- Returns 1 if it was removed, else 0.
local due = redis.call('ZSCORE', KEYS[2], ARGV[1])
if not due or tonumber(due) >= tonumber(ARGV[2]) then
  return 0
end
redis.call('ZREM', KEYS[2], ARGV[1])
local phase = redis.call('HGET', KEYS[1], 'phase')
if phase == 'over' or phase == 'settled' then
  return 0
end
redis.call('HDEL', KEYS[3], ARGV[1], ARGV[1] .. '|v')
redis.call('UNLINK', KEYS[1], unpack(KEYS, 5))
redis.call('SET', KEYS[4], 'over', 'PX', ARGV[3])
return 1
