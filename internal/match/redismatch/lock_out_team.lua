-- Shuts the team of a wrong answer in a buzzer match out for a while; its player
-- is by the lock. The question's first stays as it is. Between judge_answers.lua and
-- accept_answers.lua.
-- KEYS  as of judge_answers.lua
-- ARGV  as of judge_answers.lua, of each 10 how long (ms), 0 for not at all
-- Returns as judge_answers.lua.
local function moved(i, a, answered)
  if a[10] ~= '0' then
    redis.call('SET', KEYS[7 + i], a[1], 'PX', a[10])
  end
  return answered
end
