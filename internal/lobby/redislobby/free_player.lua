-- Ends a player's being busy with one match, and notes that the player's last duel
-- is settled if it is that match.
-- KEYS  1 busy (string), 2 last duel (string)
-- ARGV  1 what busy has to be, 2 match id
-- Returns 1 where busy was that, else 0.
if redis.call('GET', KEYS[2]) == ARGV[2] then
  redis.call('DEL', KEYS[2])
end
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
return redis.call('DEL', KEYS[1])
