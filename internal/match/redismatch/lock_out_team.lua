-- Locks out the team of a wrong answer in a buzzer match for the lockout time. The
-- answer's lock already stops the player. The first of the question stays
-- unchanged. Runs between judge_answers.lua and accept_answers.lua.
-- KEYS  as of judge_answers.lua
-- ARGV  as of judge_answers.lua, per attempt 10 lockout (ms), 0 for none
-- Returns as judge_answers.lua.
local function apply_mode(i, a, answered)
  if a[10] ~= '0' then
    redis.call('SET', KEYS[7 + i], a[1], 'PX', a[10])
  end
  return answered
end
