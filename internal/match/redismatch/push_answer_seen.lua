-- Appends the push that an answer was accepted in a duel to the log. Runs between judge_answers.lua
-- and accept_answers.lua.
-- KEYS  as of judge_answers.lua, 8 log (list)
-- ARGV  as of judge_answers.lua, per attempt 10 head and 11 tail of the push around
--       its number, '' for no push
-- Returns as judge_answers.lua.
local function apply_mode(_, a, answered)
  if a[10] == '' then
    return answered
  end
  local seq = redis.call('HINCRBY', KEYS[1], 'seq', 1)
  redis.call('RPUSH', KEYS[8], a[10] .. string.format('%.0f', seq) .. a[11])
  redis.call('HSET', KEYS[7], ARGV[1], seq)
  return {'accepted', '', 0, answered, seq}
end
