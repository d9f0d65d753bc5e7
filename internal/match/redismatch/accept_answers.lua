-- Accepts answers: lock, record, totals, counters, and the deadline if an
-- answer is the last one. Runs after judge_answers.lua and the mode's script.
-- Sums are 'score correct answered saved last latest'.
-- KEYS  as of judge_answers.lua
-- ARGV  as of judge_answers.lua
-- Returns as judge_answers.lua.
local answered, right, version = m[5] + 0, m[9] + 0, m[7] + 0
local records, totals, outcomes, due_at = {}, {}, {}, nil
for i = 1, n do
  local a = {unpack(ARGV, 6 + (i - 1) * width, 5 + i * width)}
  local score, correct, count, saved, last = string.match(sums[i] or '0 0 0 0 0', '(%d+) (%d+) (%d+) (%d+) (%d+)')
  outcomes[i] = refused(i, a, last)
  if not outcomes[i] then
    redis.call('SET', KEYS[lock + i], a[1], 'PX', ARGV[3])
    if a[8] == '1' then
      score, saved, last = score + a[7], saved + a[9], a[3] + 1
      correct = correct + 1
    end
    local at = #records
    records[at + 1], records[at + 2] = a[3] .. '|' .. a[2], a[6]
    totals[at + 1] = a[2]
    totals[at + 2] = score .. ' ' .. correct .. ' ' .. count + 1 .. ' ' .. saved .. ' ' .. last .. ' ' .. a[3] + 1
    answered, right, version, due_at = answered + 1, right + a[8], version + 1, a[4]
    outcomes[i] = apply_mode(i, a, answered, score, saved)
  end
end
if due_at then
  redis.call('HSET', KEYS[2], unpack(records))
  redis.call('HSET', KEYS[3], unpack(totals))
  redis.call('HSET', KEYS[1], 'answered', answered, 'right', right, 'version', version)
  redis.call('HSET', KEYS[7], ARGV[1] .. '|v', version)
  local ttl = m[5] == '0' and redis.call('PTTL', KEYS[1]) or 0
  if ttl > 0 then -- both keys may be new
    redis.call('PEXPIRE', KEYS[2], ttl)
    redis.call('PEXPIRE', KEYS[3], ttl)
  end
  if answered >= tonumber(m[6]) then
    redis.call('ZADD', KEYS[6], due_at, ARGV[1])
  end
end
local nodes = ARGV[2] == 'duel' and redis.call('SMEMBERS', KEYS[5]) or {}
return {'judged', tonumber(m[6]), version, nodes, unpack(outcomes)}
