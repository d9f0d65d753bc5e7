-- Shuts the team of a wrong answer in a buzzer match out for a while, after
-- accept.lua; its player is by the lock. The question's first stays as it is.
-- KEYS  as of verdict.lua, 9 lockout (string)
-- ARGV  as of verdict.lua, 14 how long (ms), 0 for not at all
-- Returns as verdict.lua.
if ARGV[14] ~= '0' then
  redis.call('SET', KEYS[9], ARGV[2], 'PX', ARGV[14])
end
return {'accepted', '', answered, m[6], version, 0, {}}
