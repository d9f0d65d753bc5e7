-- Decides whether a step is applied. If it is, end_match.lua and apply_step.lua
-- follow.
-- KEYS  1 match (hash), 2 log (list), 3 due:{p} (zset), 4 seq:{p} (hash),
--       5 nodes (set), 6 first:Q (string), 7 result:{p} (hash),
--       8 tombstone (string), 9… keys that get a new time to live
-- ARGV  1 match id, 2 attempt id, 3 phase, 4 question and 5 version that the
--       match must have (0: any version), 6 highest version seen, 7 lowest base
--       of the new version, 8 due at (ms, 0 for never), 9 new value of first:Q
--       ('': unchanged) and 10 its time to live (ms), 11 result (JSON, '': none),
--       12 new time to live (ms, 0: unchanged), 13 time to live of the tombstone (ms),
--       14 how many of KEYS 9… stay until the match is settled,
--       15 number of pushes, 16… head, tail of each around its number, then
--       field, value, …
-- Returns {'applied', number of the first push, version, nodes}, also for a
-- repeated attempt; else {'moved_on'}, {'abandoned'} or {'gone'}.
local m = redis.call('HMGET', KEYS[1], 'phase', 'question', 'step', 'step_first', 'seq', 'version')
if not m[1] then
  return {'gone'}
end
if m[3] == ARGV[2] then
  return {'applied', m[4], m[6], redis.call('SMEMBERS', KEYS[5])}
end
if tonumber(m[6]) < tonumber(ARGV[6]) then
  return {'abandoned'}
end
if m[1] ~= ARGV[3] or m[2] ~= ARGV[4] or ARGV[5] ~= '0' and m[6] ~= ARGV[5] then
  return {'moved_on'}
end
