-- Gives a duty back.
-- KEYS  1 the duty's lease (text)
-- ARGV  1 holder
-- Returns 1; 0 when it is not the holder's: nothing was written.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
return redis.call('DEL', KEYS[1])
