-- Moves the deadline of a match that waits for its host to open a question. It
-- never moves the deadline back.
-- KEYS  1 match (hash), 2 due:{p} (zset)
-- ARGV  1 match id, 2 due at (ms)
-- Returns 1 if it was moved, else 0.
local match, due, id, due_at = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
local m = redis.call('HMGET', match, 'host_paced', 'phase', 'question', 'questions', 'mode', 'alive', 'ending', 'due_at')
if m[1] ~= '1' or m[7] ~= '' or tonumber(due_at) <= tonumber(m[8]) then
  return 0
end
local more = m[3] + 1 < tonumber(m[4]) and not (m[5] == 'survival' and tonumber(m[6]) <= 1)
if m[2] ~= 'countdown' and not (m[2] == 'revealed' and more) then
  return 0
end
redis.call('HSET', match, 'due_at', due_at)
redis.call('ZADD', due, due_at, id)
return 1
