-- Removes a match that no node can read, unless it is over, or its
-- deadline has moved because another node advanced it.
-- KEYS  1 match (hash), 2 due:{p} (zset), 3 seq:{p} (hash), 4 tombstone (string),
--       5… the other keys of the match
-- ARGV  1 match id, 2 time before which its deadline must be (ms),
--       3 time to live of the tombstone (ms)
-- Returns 1 if it was removed, else 0.
local match, due_index, seq_key, tombstone = unpack(KEYS, 1, 4)
local id, due_before, tombstone_ttl = unpack(ARGV)
local due = redis.call('ZSCORE', due_index, id)
if not due or tonumber(due) >= tonumber(due_before) then
  return 0
end
redis.call('ZREM', due_index, id)
local phase = redis.call('HGET', match, 'phase')
if phase == 'over' or phase == 'settled' then
  return 0
end
redis.call('HDEL', seq_key, id, id .. '|v')
redis.call('UNLINK', match, unpack(KEYS, 5))
redis.call('SET', tombstone, 'over', 'PX', tombstone_ttl)
return 1
