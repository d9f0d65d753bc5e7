-- Moves the deadline of a match that waits for its host to open a question. It
-- never moves the deadline back.
-- KEYS  1 match (hash), 2 due:{p} (zset)
-- ARGV  1 match id, 2 due at (ms)
-- Returns 1 if it was moved, else 0.
local m = redis.call('HMGET', KEYS[1], 'host_paced', 'phase', 'question', 'questions', 'mode', 'alive', 'ending', 'due_at')
if m[1] ~= '1' or m[7] ~= '' or tonumber(ARGV[2]) <= tonumber(m[8]) then
  return 0
end
local more = m[3] + 1 < tonumber(m[4]) and not (m[5] == 'survival' and tonumber(m[6]) <= 1)
if m[2] ~= 'countdown' and not (m[2] == 'revealed' and more) then
  return 0
end
redis.call('HSET', KEYS[1], 'due_at', ARGV[2])
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[1])
return 1
