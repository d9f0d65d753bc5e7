-- Stores the result of the last step and sets the keys to expire. Runs between
-- check_step.lua and apply_step.lua. Other steps skip all of it.
-- KEYS  as of check_step.lua
-- ARGV  as of check_step.lua
-- Returns nothing.
if ARGV[11] ~= '' then
  redis.call('HSET', KEYS[7], ARGV[1], ARGV[11])
end
if ARGV[12] ~= '0' then
  for i = 9, #KEYS do
    if i < 9 + ARGV[14] then
      redis.call('PERSIST', KEYS[i])
    else
      redis.call('PEXPIRE', KEYS[i], ARGV[12])
    end
  end
  redis.call('SET', KEYS[8], 'over', 'PX', ARGV[13])
end
