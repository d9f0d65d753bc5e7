-- Accepts a judged answer: lock, record, totals, counters and push at once.
-- KEYS  1 match (hash), 2 lock (string), 3 answers (hash), 4 totals (hash),
--       5 log (list), 6 due:{p} (zset), 7 seq:{p} (hash)
-- ARGV  1 match id, 2 attempt id, 3 player, 4 question, 5 stamp (ms),
--       6 opens_at it was judged by (ms), 7 record (JSON), 8 points,
--       9 1 if right, else 0, 10 ms saved, 11 time to live (ms), 12 seats,
--       13 head and 14 tail of the push around its number
-- Returns {verdict, record, answered, seq}; the attempt that holds the lock is
-- told again that it was accepted, with seq 0: others may have pushed since.
local m = redis.call('HMGET', KEYS[1], 'phase', 'question', 'opens_at', 'closes_at', 'answered')
if not m[1] then
  return {'gone'}
end
local field = ARGV[4] .. '|' .. ARGV[3]
local holder = redis.call('GET', KEYS[2])
if holder then
  local verdict = holder == ARGV[2] and 'accepted' or 'duplicate'
  return {verdict, redis.call('HGET', KEYS[3], field), m[5], 0}
end
if tonumber(ARGV[4]) > tonumber(m[2]) then
  return {'early'}
end
if m[1] ~= 'open' or m[2] ~= ARGV[4] or tonumber(ARGV[5]) > tonumber(m[4]) then
  return {'late'}
end
if m[3] ~= ARGV[6] then
  return {'stale'}
end
redis.call('SET', KEYS[2], ARGV[2], 'NX', 'PX', ARGV[11])
redis.call('HSET', KEYS[3], field, ARGV[7])
redis.call('HINCRBY', KEYS[4], 'score|' .. ARGV[3], ARGV[8])
redis.call('HINCRBY', KEYS[4], 'correct|' .. ARGV[3], ARGV[9])
redis.call('HINCRBY', KEYS[4], 'answered|' .. ARGV[3], 1)
redis.call('HINCRBY', KEYS[4], 'saved|' .. ARGV[3], ARGV[10])
redis.call('PEXPIRE', KEYS[3], ARGV[11])
redis.call('PEXPIRE', KEYS[4], ARGV[11])
local answered = redis.call('HINCRBY', KEYS[1], 'answered', 1)
redis.call('HINCRBY', KEYS[1], 'right', ARGV[9])
if answered >= tonumber(ARGV[12]) then
  redis.call('ZADD', KEYS[6], ARGV[5], ARGV[1])
end
local seq = redis.call('HINCRBY', KEYS[1], 'seq', 1)
redis.call('RPUSH', KEYS[5], ARGV[13] .. string.format('%.0f', seq) .. ARGV[14])
redis.call('HSET', KEYS[7], ARGV[1], seq)
return {'accepted', ARGV[7], answered, seq}
