-- Applies a step of a match: state, answer, pushes, deadline, and whether a first correct
-- answer may close the question. The last step also stores the result and lets the keys
-- expire.
-- KEYS  1 match (hash), 2 log (list), 3 due:{p} (zset), 4 seq:{p} (hash), 5 answers
--       (hash), 6 totals (hash); of an arena then: 7 first:Q (string) of the old and 8 of
--       the new question, 9 counts (zset); of the last step then: result:{p} (hash), tombstone (string), keys that stay until
--       the match is settled, other keys that get a new time to live
-- ARGV  1 match id, 2 attempt id, 3 phase, 4 question and 5 version that the match must
--       have (0: any version), 6 highest version that the node of the attempt has seen, 7 the node,
--       8 the version after its newest write that it knows, 9 lowest base of the new version,
--       10 due at (ms, 0 for never, '': unchanged), 11 player of an answer ('': none), 12 its field and
--       13 its record in answers, 14 the player's new totals, 15 time to live of 0 in the
--       old question's first:Q, 16 of 1 in the new one's and 17 of new counts (ms, 0:
--       unchanged), 18 index of the KEYS of the last step (0: the match goes on), 19 result (JSON, '': none), 20 new time to live and
--       21 that of the tombstone (ms), 22 how many keys stay until the match is settled,
--       23 number of pushes, 24… head and tail of each push around its number, then field,
--       value, … of the new state
-- Returns the text 'applied', number of the first push, version after the step, nodes, also
-- for a repeated attempt; else 'moved_on', 'abandoned' or 'gone'.
local match, log, due, seq_key, answers, totals = unpack(KEYS, 1, 6)
local id, attempt, old_phase, old_question, old_version, seen_version, node, written, min_version, due_at = unpack(ARGV, 1, 10)
local player, answer_field, record, sums = unpack(ARGV, 11, 14)
local closed_ttl, opened_ttl, counts_ttl, end_at, result, end_ttl, tombstone_ttl, kept_count, push_count = unpack(ARGV, 15, 23)

local m = redis.call('HMGET', match, 'phase', 'question', 'step', 'step_first', 'seq', 'version', 'step_version', 'nodes', 'w|' .. node)
if not m[1] then
  return 'gone'
end
if m[3] == attempt then
  return string.format('applied %s %s %s', m[4], m[7], m[8] or '')
end
if tonumber(m[6]) < tonumber(seen_version) or tonumber(m[9] or 0) < tonumber(written) then
  return 'abandoned'
end
if m[1] ~= old_phase or m[2] ~= old_question or old_version ~= '0' and m[6] ~= old_version then
  return 'moved_on'
end

if player ~= '' then
  if redis.call('HSETNX', answers, answer_field, record) == 0 then
    return 'moved_on' -- after a fail-over versions repeat
  end
  local ttl = redis.call('HSET', totals, player, sums) == 1 and redis.call('PTTL', match) or 0
  if ttl > 0 then -- the player's first answer: the keys may be new
    redis.call('PEXPIRE', answers, ttl)
    redis.call('PEXPIRE', totals, ttl)
  end
end

local seq, pushes = m[5] + 0, {}
local first_push, fields_at = seq + 1, 24 + 2 * push_count
for i = 24, fields_at - 1, 2 do
  seq = seq + 1
  pushes[#pushes + 1] = ARGV[i] .. string.format('%.0f', seq) .. ARGV[i + 1]
end
if #pushes > 0 then
  redis.call('RPUSH', log, unpack(pushes))
end
local ttl = first_push == 1 and redis.call('PTTL', match) or 0
if ttl > 0 then -- the log of an arena is a new key
  redis.call('PEXPIRE', log, ttl)
end
local version = math.max(m[6], min_version) + 1
redis.call('HSET', match, 'step', attempt, 'step_first', first_push, 'step_version', version, 'w|' .. node, version,
  'seq', seq, 'version', version, unpack(ARGV, fields_at))
if due_at == '0' then
  redis.call('ZREM', due, id)
elseif due_at ~= '' then
  redis.call('ZADD', due, due_at, id)
end
if closed_ttl ~= '0' then
  redis.call('SET', KEYS[7], 0, 'PX', closed_ttl)
end
if opened_ttl ~= '0' then
  redis.call('SET', KEYS[8], 1, 'PX', opened_ttl)
end
if counts_ttl ~= '0' then
  redis.call('DEL', KEYS[9])
  redis.call('ZADD', KEYS[9], 0, '') -- keeps the time to live
  redis.call('PEXPIRE', KEYS[9], counts_ttl)
end

if end_at ~= '0' then
  for i = end_at + 2, #KEYS do
    if i < end_at + 2 + kept_count then
      redis.call('PERSIST', KEYS[i])
    else
      redis.call('PEXPIRE', KEYS[i], end_ttl)
    end
  end
  redis.call('SET', KEYS[end_at + 1], 'over', 'PX', tombstone_ttl)
end
if result ~= '' then
  redis.call('HSET', KEYS[end_at + 0], id, result)
end
if result == '' and end_at ~= '0' then -- the match is over and leaves no result
  redis.call('HDEL', seq_key, id, id .. '|v')
else
  redis.call('HSET', seq_key, id, seq, id .. '|v', version)
end
return string.format('applied %.0f %.0f %s', first_push, version, m[8] or '')
