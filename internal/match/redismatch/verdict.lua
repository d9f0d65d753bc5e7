-- What becomes of an attempt: goes on to accept.lua where it is to be accepted.
-- KEYS  1 match (hash), 2 lock (string), 3 answers (hash), 4 totals (hash),
--       5 seats (hash), 6 nodes (set), 7 due:{p} (zset), 8 seq:{p} (hash),
--       9… those of the mode: of buzzer 9 lockout (string)
-- ARGV  1 match id, 2 attempt id, 3 player, 4 question, 5 stamp (ms),
--       6 opens_at it was judged by (ms), 7 record (JSON), 8 points,
--       9 1 if right, else 0, 10 ms saved, 11 time to live of the lock (ms),
--       12 highest version seen, 13 mode, 14… those of the mode
-- Returns {verdict}; locked_out {verdict, ms left}; accepted and duplicate
-- {verdict, record, answered, alive, version, seq, nodes}; the record is '' where
-- it is ARGV 7. The attempt that holds the lock is told again that it was
-- accepted, with seq 0: others may have pushed since.
local m = redis.call('HMGET', KEYS[1], 'phase', 'question', 'opens_at', 'closes_at', 'answered', 'alive', 'version',
  'last', 'right')
if not m[1] then
  return {'gone'}
end
if tonumber(m[7]) < tonumber(ARGV[12]) then
  return {'abandoned'}
end
local field = ARGV[4] .. '|' .. ARGV[3]
local holder = redis.call('GET', KEYS[2])
if holder == ARGV[2] then
  return {'accepted', redis.call('HGET', KEYS[3], field), m[5], m[6], m[7], 0, redis.call('SMEMBERS', KEYS[6])}
end
local t = redis.call('HMGET', KEYS[4], ARGV[3], 'left|' .. ARGV[3])
local seated = ARGV[13] == 'duel' or t[1] or redis.call('HEXISTS', KEYS[5], ARGV[3]) == 1
if t[2] or not seated then
  return {'gone'}
end
if tonumber(ARGV[4]) > tonumber(m[2]) then
  return {'early'}
end
local score, correct, count, saved, last = string.match(t[1] or '0 0 0 0 0', '(%d+) (%d+) (%d+) (%d+) (%d+)')
if ARGV[13] == 'survival' and tonumber(last) <= tonumber(m[8]) then
  return {'eliminated'}
end
if holder then
  return {'duplicate', redis.call('HGET', KEYS[3], field), m[5], m[6], m[7], 0, {}}
end
if m[1] ~= 'open' or m[2] ~= ARGV[4] or tonumber(ARGV[5]) > tonumber(m[4]) then
  return {'late'}
end
if m[3] ~= ARGV[6] then
  return {'stale'}
end
if ARGV[13] == 'buzzer' and redis.call('EXISTS', KEYS[9]) == 1 then
  return {'locked_out', redis.call('PTTL', KEYS[9])}
end
