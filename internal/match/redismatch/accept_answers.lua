-- Judges answers in an arena, each of another player, and stores the accepted ones. If the question waits for no other
-- answer, the match is due. In a buzzer match, which locks out the team of a wrong answer, right ones race in Go, see
-- race.go. A record locks out a second answer. So does a refusal, until closes_at changes, see record.go. Answers to
-- duels are part of steps, see apply_step.lua.
-- KEYS  1 match (hash), 2 answers (hash: QUESTION|PLAYER to record or refusal), 3 totals (hash: player to 'score
--       correct answered saved_ms last_right latest streak'; last_right and latest are question + 1), 4 seats (hash),
--       5 due:{p} (zset), 6 seq:{p} (hash), 7 counts (zset), then of the mode: survival and race: 8 rank, 9 top (zsets),
--       10 teams (hash); buzzer: the lockout of each answer, then the guard of its player, which makes a race of the
--       player fail
-- ARGV  1 match id, 2 mode, 3 time to live of the guards (ms), 4 highest version seen by the node of the answers, 5 the
--       node, 6 the version after its newest write, 7 number of values per answer: 1 attempt id, 2 player, 3 question,
--       4 arrival (ms), 5 opens_at that it was judged by (ms), 6 record (JSON up to its points), 7 points, below 0 for
--       a penalty, 8 1 if right, else 0, 9 saved ms, 10 points for each right answer in a row before it, 11 normal form
--       to count, then of the mode: survival and race: 12 team or '', 13 extra time (ms); buzzer: 12 lockout (ms) or 0
-- Returns {'gone'} or {'abandoned'} for all; else {'judged', alive, version, one value per answer}: the count of
-- answers if accepted, or {verdict, record, ms left, count of answers}. The attempt of the record is accepted again.
local match, answers, totals, seats, due, seq_key = unpack(KEYS, 1, 6)
local id, mode, guard_ttl, seen_version, node, written, width = unpack(ARGV, 1, 7)
local m = redis.call('HMGET', match, 'phase', 'question', 'opens_at', 'closes_at', 'answered', 'alive', 'version',
  'last', 'right', 'left', 'w|' .. node)
local phase, question, opens_at, closes_at, alive = m[1], m[2], m[3], m[4], m[6]
if not phase or tonumber(m[7]) < tonumber(seen_version) or tonumber(m[11] or 0) < tonumber(written) then
  return {phase and 'abandoned' or 'gone'}
end
local n, is_extensible, refusal = (#ARGV - 7) / width, mode == 'race' or mode == 'survival', '{"closed":' .. closes_at .. '}'
local players, left_fields, record_fields = {}, {}, {}
for i = 1, n do
  local player = ARGV[9 + (i - 1) * width]
  players[i], left_fields[i], record_fields[i] = player, 'left|' .. player, ARGV[10 + (i - 1) * width] .. '|' .. player
end
local sums, earlier_records = redis.call('HMGET', totals, unpack(players)), redis.call('HMGET', answers, unpack(record_fields))
local has_left = m[10] ~= '0' and redis.call('HMGET', totals, unpack(left_fields)) or {}

-- Returns why an answer is not accepted, or nil if it is.
local function refuse(i, a, last_right)
  local earlier = earlier_records[i]
  if earlier and string.match(earlier, '^{"id":"([^"]*)"') == a[1] then
    return {'accepted', earlier, 0, tonumber(m[5])}
  elseif has_left[i] or not (sums[i] or redis.call('HEXISTS', seats, a[2]) == 1) then
    return {'gone'}
  elseif tonumber(a[3]) > tonumber(question) then
    return {'early'}
  elseif mode == 'survival' and tonumber(last_right) <= tonumber(m[8]) then
    return {'eliminated'}
  elseif earlier and string.sub(earlier, 1, 5) == '{"id"' then
    return {'duplicate', earlier, 0, tonumber(m[5])}
  elseif phase ~= 'open' or question ~= a[3] or earlier == refusal then
    return {'late'}
  elseif a[4] - (is_extensible and a[13] or 0) > tonumber(closes_at) then
    redis.call('HSET', answers, record_fields[i], refusal)
    redis.call('PEXPIRE', answers, redis.call('PTTL', match))
    local _ = mode == 'buzzer' and redis.call('SET', KEYS[7 + n + i], 1, 'PX', guard_ttl)
    return {'late'}
  elseif opens_at ~= a[5] then
    return {'stale'}
  end
  local lockout = mode == 'buzzer' and redis.call('PTTL', KEYS[7 + i]) or -2
  return lockout > 0 and {'locked_out', '', lockout} or nil -- 0 means that the lockout has ended
end
local answered, right, version = m[5] + 0, m[9] + 0, m[7] + 0
-- Applies the effect of the mode, and returns the value of the accepted answer.
local function apply_mode(i, a, points, score, saved)
  for value in string.gmatch(a[11], string.sub(a[11], 1, 2) == 'm:' and '%d+' or '.+') do
    redis.call('ZINCRBY', KEYS[7], 1, value)
  end
  if mode == 'race' or mode == 'survival' and a[8] == '1' then
    local first_by = mode == 'race' and score or a[3] + 1 -- then by saved ms; in top by score
    redis.call('ZADD', KEYS[8], string.format('%.0f', first_by * 1e9 + saved), a[2])
    redis.call('ZADD', KEYS[9], string.format('%.0f', first_by * 1e6 + score), a[2])
    if a[12] ~= '' and points ~= 0 then
      redis.call('HINCRBY', KEYS[10], 'score|' .. a[12], points)
    end
  elseif mode == 'buzzer' then
    redis.call('SET', KEYS[7 + n + i], 1, 'PX', guard_ttl)
    local _ = a[12] ~= '0' and redis.call('SET', KEYS[7 + i], a[1], 'PX', a[12])
  end
  return answered
end
local records, new_totals, outcomes, due_at = {}, {}, {}, nil
for i = 1, n do
  local a = {unpack(ARGV, 8 + (i - 1) * width, 7 + i * width)}
  local score, correct, count, saved, last_right, streak = string.match(sums[i] or '0 0 0 0 0 0 0', '(%d+) (%d+) (%d+) (%d+) (%d+) %d+ (%d+)')
  outcomes[i] = refuse(i, a, last_right)
  if not outcomes[i] then
    local points = a[7]
    if a[8] == '1' then
      streak = last_right == a[3] and streak + 1 or 1
      points, correct, saved, last_right = points + math.min(streak - 1, 5) * a[10], correct + 1, saved + a[9], a[3] + 1
    end
    points = math.max(points, 0 - score)
    score = score + points
    local at = #records
    records[at + 1], records[at + 2] = record_fields[i], a[6] .. points .. '}'
    new_totals[at + 1], new_totals[at + 2] = a[2], table.concat({score, correct, count + 1, saved, last_right, a[3] + 1, streak}, ' ')
    answered, right, version, due_at = answered + 1, right + a[8], version + 1, a[4]
    outcomes[i] = apply_mode(i, a, points, score, saved)
  end
end
if due_at then
  redis.call('HSET', answers, unpack(records))
  redis.call('HSET', totals, unpack(new_totals))
  redis.call('HSET', match, 'answered', answered, 'right', right, 'version', version, 'w|' .. node, version)
  redis.call('HSET', seq_key, id .. '|v', version)
  local ttl = m[5] == '0' and redis.call('PTTL', answers) < 0 and redis.call('PTTL', match) or 0
  if ttl > 0 then -- both keys are new
    redis.call('PEXPIRE', answers, ttl)
    redis.call('PEXPIRE', totals, ttl)
  end
  if answered >= tonumber(alive) then
    redis.call('ZADD', due, due_at, id)
  end
end
return {'judged', tonumber(alive), version, unpack(outcomes)}
