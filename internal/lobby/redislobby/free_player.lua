-- Records that a player is no longer in a match. If the match is the player's
-- last duel, it is settled.
-- KEYS  1 busy (string), 2 last duel (string)
-- ARGV  1 required value of busy, 2 match id
-- Returns 1 if busy had that value, else 0.
if redis.call('GET', KEYS[2]) == ARGV[2] then
  redis.call('DEL', KEYS[2])
end
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
return redis.call('DEL', KEYS[1])
