-- Ends a player's being busy with one thing.
-- KEYS  1 busy (string)
-- ARGV  1 what it has to be
-- Returns 1 where it was that, else 0.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
return redis.call('DEL', KEYS[1])
