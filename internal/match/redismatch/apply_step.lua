-- Applies a step of a match: state, pushes, deadline, and whether a first correct answer
-- may close the question. The last step also stores the result and lets the keys expire.
-- KEYS  1 match (hash), 2 log (list), 3 due:{p} (zset), 4 seq:{p} (hash),
--       5 nodes (set), 6 first:Q (string) of the old and 7 of the new question,
--       8 result:{p} (hash), 9 tombstone (string), 10 answers (hash), 11 totals (hash) and
--       12 lock (string) of the last answer, 13 counts (zset), 14… keys that get a new time
--       to live
-- ARGV  1 match id, 2 attempt id, 3 phase, 4 question and 5 version that the match must
--       have (0: any version), 6 highest version seen, 7 lowest base of the new
--       version, 8 due at (ms, 0 for never), 9 time to live of 0 in the old question's
--       first:Q and 10 of 1 in the new one's (ms, 0: unchanged), 11 result (JSON, '':
--       none), 12 new time to live (ms, 0: the match goes on), 13 time to live of the
--       tombstone (ms), 14 how many of KEYS 14… stay until the match is settled, 15 attempt
--       id of the last answer ('': none), 16 its player, 17 its field and 18 its record in
--       answers, 19 the new totals, 20 time to live of its lock (ms), 21 time to live of new
--       counts (ms, 0: unchanged), 22 number of pushes, 23… head and tail of each push
--       around its number, then field, value, … of the new state
-- Returns {'applied', number of the first push, version, nodes}, also for a repeated
-- attempt; else {'moved_on'}, {'abandoned'} or {'gone'}.
local match, log, due, seq_key, nodes, closed_first, opened_first, result_key, tombstone, answers, totals, lock, counts = unpack(KEYS, 1, 13)
local id, attempt, old_phase, old_question, old_version, seen_version, min_version = unpack(ARGV, 1, 7)
local due_at, closed_ttl, opened_ttl, result, end_ttl, tombstone_ttl, kept_count = unpack(ARGV, 8, 14)
local answer, player, answer_field, record, sums, lock_ttl, counts_ttl, push_count = unpack(ARGV, 15, 22)

local m = redis.call('HMGET', match, 'phase', 'question', 'step', 'step_first', 'seq', 'version')
if not m[1] then
  return {'gone'}
end
if m[3] == attempt then
  return {'applied', m[4], m[6], redis.call('SMEMBERS', nodes)}
end
if tonumber(m[6]) < tonumber(seen_version) then
  return {'abandoned'}
end
if m[1] ~= old_phase or m[2] ~= old_question or old_version ~= '0' and m[6] ~= old_version then
  return {'moved_on'}
end

if answer ~= '' then
  redis.call('SET', lock, answer, 'PX', lock_ttl)
  redis.call('HSET', answers, answer_field, record)
  redis.call('HSET', totals, player, sums)
end
if result ~= '' then
  redis.call('HSET', result_key, id, result)
end
if end_ttl ~= '0' then
  for i = 14, #KEYS do
    if i < 14 + kept_count then
      redis.call('PERSIST', KEYS[i])
    else
      redis.call('PEXPIRE', KEYS[i], end_ttl)
    end
  end
  redis.call('SET', tombstone, 'over', 'PX', tombstone_ttl)
end

local seq, at = tonumber(m[5]), 23
local first_push = seq + 1
for _ = 1, tonumber(push_count) do
  seq = seq + 1
  redis.call('RPUSH', log, ARGV[at] .. string.format('%.0f', seq) .. ARGV[at + 1])
  at = at + 2
end
local ttl = redis.call('PTTL', match)
if first_push == 1 and ttl > 0 then -- the log of an arena is a new key
  redis.call('PEXPIRE', log, ttl)
end
local version = math.max(tonumber(m[6]), tonumber(min_version)) + 1
redis.call('HSET', match, 'step', attempt, 'step_first', first_push, 'seq', seq, 'version', version, unpack(ARGV, at))
if result == '' and end_ttl ~= '0' then -- the match is over and leaves no result
  redis.call('HDEL', seq_key, id, id .. '|v')
else
  redis.call('HSET', seq_key, id, seq, id .. '|v', version)
end
if due_at == '0' then
  redis.call('ZREM', due, id)
else
  redis.call('ZADD', due, due_at, id)
end
if closed_ttl ~= '0' then
  redis.call('SET', closed_first, 0, 'PX', closed_ttl)
end
if opened_ttl ~= '0' then
  redis.call('SET', opened_first, 1, 'PX', opened_ttl)
end
if counts_ttl ~= '0' then
  redis.call('DEL', counts)
  redis.call('ZADD', counts, 0, '') -- keeps the time to live
  redis.call('PEXPIRE', counts, counts_ttl)
end
return {'applied', first_push, version, redis.call('SMEMBERS', nodes)}
