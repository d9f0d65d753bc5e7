-- Writes a new match with its deadline and, if there is one, its first push.
-- Does nothing if the id exists or existed before.
-- KEYS  1 match (hash), 2 plan (string), 3 log (list), 4 due:{p} (zset), 5 seq:{p} (hash),
--       6 tombstone (string)
-- ARGV  1 match id, 2 attempt id, 3 plan (JSON), 4 due at (ms, 0 for never),
--       5 time to live (ms), 6 the frame of push 1, '' for none,
--       7 node that will hold sessions of it, '' for none, 8… field, value, … of the match
-- Returns 1 if the match was written, also for a repeated attempt; else 0.
local match, plan_key, log, due, seq_key, tombstone = unpack(KEYS)
local id, attempt, plan, due_at, ttl, first_push, node = unpack(ARGV, 1, 7)
if redis.call('EXISTS', match, tombstone) > 0 then
  return redis.call('HGET', match, 'made') == attempt and 1 or 0
end
local seq = 0
if first_push ~= '' then
  seq = redis.call('RPUSH', log, first_push)
end
redis.call('HSET', match, 'made', attempt, 'seq', seq, 'version', 1, 'nodes', node, unpack(ARGV, 8))
redis.call('SET', plan_key, plan)
for i = 1, 3 do
  redis.call('PEXPIRE', KEYS[i], ttl)
end
if due_at ~= '0' then
  redis.call('ZADD', due, due_at, id)
end
redis.call('HSET', seq_key, id, seq, id .. '|v', 1)
return 1
