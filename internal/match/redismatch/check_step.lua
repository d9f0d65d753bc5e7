-- Whether a step is to be taken: goes on to end_match.lua and apply_step.lua where it is.
-- KEYS  1 match (hash), 2 log (list), 3 due:{p} (zset), 4 seq:{p} (hash),
--       5 nodes (set), 6 first:Q (string), 7 result:{p} (hash),
--       8 tomb (string), 9… those that get another time to live
-- ARGV  1 match id, 2 attempt id, 3 phase, 4 question and 5 version it has to
--       stand at (0: any version), 6 highest version seen, 7 version to go on
--       from at least, 8 due at (ms, 0 for never), 9 what first:Q is set to
--       ('': as it is) and 10 for how long (ms), 11 result (JSON, '' for none),
--       12 time to live from now on (ms, 0: as before), 13 of the tomb (ms),
--       14 how many of KEYS 9… live until the match is settled,
--       15 number of pushes, 16… head, tail of each around its number, then
--       field, value, …
-- Returns {'taken', number of the first push, version, nodes}, also to the same
-- attempt again; {'elsewhere'}, {'abandoned'} or {'gone'}.
local m = redis.call('HMGET', KEYS[1], 'phase', 'question', 'step', 'step_first', 'seq', 'version')
if not m[1] then
  return {'gone'}
end
if m[3] == ARGV[2] then
  return {'taken', m[4], m[6], redis.call('SMEMBERS', KEYS[5])}
end
if tonumber(m[6]) < tonumber(ARGV[6]) then
  return {'abandoned'}
end
if m[1] ~= ARGV[3] or m[2] ~= ARGV[4] or ARGV[5] ~= '0' and m[6] ~= ARGV[5] then
  return {'elsewhere'}
end
