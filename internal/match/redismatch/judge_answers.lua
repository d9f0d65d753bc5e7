-- Judges attempts of one match, each of another player. Continues with the
-- script of the mode (rank_survivor.lua, push_answer_seen.lua,
-- lock_out_team.lua), then with accept_answers.lua.
-- KEYS  1 match (hash), 2 answers (hash), 3 totals (hash), 4 seats (hash),
--       5 nodes (set), 6 due:{p} (zset), 7 seq:{p} (hash), 8… keys of the mode
--       (buzzer: each attempt's lockout, string), then each attempt's lock
--       (string)
-- ARGV  1 match id, 2 mode, 3 time to live of the locks (ms), 4 highest version
--       seen, 5 number of values per attempt: 1 its id, 2 player,
--       3 question, 4 arrival (ms), 5 opens_at it was judged by (ms), 6 record
--       (JSON), 7 points, 8 1 if right, else 0, 9 ms saved, 10… values of the mode
-- Returns {gone} or {abandoned} for all; else {judged, alive, version, nodes, one
-- value per attempt}: the count of answers if accepted, or {verdict, record, ms
-- left, count of answers, seq}. The attempt that holds the lock is accepted again,
-- with seq 0, because others may have pushed since.
local m = redis.call('HMGET', KEYS[1], 'phase', 'question', 'opens_at', 'closes_at', 'answered', 'alive', 'version',
  'last', 'right', 'left')
if not m[1] then
  return {'gone'}
end
if tonumber(m[7]) < tonumber(ARGV[4]) then
  return {'abandoned'}
end
local width = tonumber(ARGV[5])
local n = (#ARGV - 5) / width
local lock = #KEYS - n -- number of KEYS before the locks
local players, left_fields = {}, {}
for i = 1, n do
  players[i] = ARGV[7 + (i - 1) * width]
  left_fields[i] = 'left|' .. players[i]
end
local sums, holders = redis.call('HMGET', KEYS[3], unpack(players)), redis.call('MGET', unpack(KEYS, lock + 1))
local left = m[10] ~= '0' and redis.call('HMGET', KEYS[3], unpack(left_fields)) or {}
-- refused returns why an attempt is not accepted, or nil if it is.
local function refused(i, a, last)
  local function known(verdict)
    return {verdict, redis.call('HGET', KEYS[2], a[3] .. '|' .. a[2]), 0, tonumber(m[5]), 0}
  end
  if holders[i] == a[1] then
    return known('accepted')
  elseif left[i] or not (ARGV[2] == 'duel' or sums[i] or redis.call('HEXISTS', KEYS[4], a[2]) == 1) then
    return {'gone'}
  elseif tonumber(a[3]) > tonumber(m[2]) then
    return {'early'}
  elseif ARGV[2] == 'survival' and tonumber(last) <= tonumber(m[8]) then
    return {'eliminated'}
  elseif holders[i] then
    return known('duplicate')
  elseif m[1] ~= 'open' or m[2] ~= a[3] or tonumber(a[4]) > tonumber(m[4]) then
    return {'late'}
  elseif m[3] ~= a[5] then
    return {'stale'}
  end
  local lockout = ARGV[2] == 'buzzer' and redis.call('PTTL', KEYS[7 + i]) or -2
  return lockout > 0 and {'locked_out', '', lockout} or nil -- 0 means that the lockout has ended
end
