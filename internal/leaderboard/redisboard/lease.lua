-- Takes a duty, or keeps it.
-- KEYS  1 the duty's lease (text)
-- ARGV  1 holder, 2 time to live (ms)
-- Returns 1; 0 when it is another's: nothing was written.
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
