-- Takes one step of a match: a compare-and-set on phase and question.
-- KEYS  1 match (hash), 2 log (list), 3 due:{p} (zset), 4 seq:{p} (hash),
--       5 result:{p} (hash), 6 answers (hash), 7 totals (hash)
-- ARGV  1 match id, 2 attempt id, 3 phase, 4 question it has to stand at,
--       5 due at (ms, 0 for never), 6 result (JSON, '' for none),
--       7 time to live from now on (ms, 0: as before), 8 number of pushes,
--       9… head, tail of each push around its number, then field, value, …
-- Returns {1, number of the first push} where it was taken, also to the same
-- attempt again; {0} where the match stands elsewhere; {-1} where it is gone.
local m = redis.call('HMGET', KEYS[1], 'phase', 'question', 'step', 'first', 'seq')
if not m[1] then
  return {-1}
end
if m[3] == ARGV[2] then
  return {1, tonumber(m[4])}
end
if m[1] ~= ARGV[3] or m[2] ~= ARGV[4] then
  return {0}
end
local seq, at = tonumber(m[5]), 9
local first = seq + 1
for _ = 1, tonumber(ARGV[8]) do
  seq = seq + 1
  redis.call('RPUSH', KEYS[2], ARGV[at] .. string.format('%.0f', seq) .. ARGV[at + 1])
  at = at + 2
end
redis.call('HSET', KEYS[1], 'step', ARGV[2], 'first', first, 'seq', seq, unpack(ARGV, at))
redis.call('HSET', KEYS[4], ARGV[1], seq)
if ARGV[5] == '0' then
  redis.call('ZREM', KEYS[3], ARGV[1])
else
  redis.call('ZADD', KEYS[3], ARGV[5], ARGV[1])
end
if ARGV[6] ~= '' then
  redis.call('HSET', KEYS[5], ARGV[1], ARGV[6])
end
if ARGV[7] ~= '0' then
  for _, key in ipairs({KEYS[1], KEYS[2], KEYS[6], KEYS[7]}) do
    redis.call('PEXPIRE', key, ARGV[7])
  end
end
return {1, first}
