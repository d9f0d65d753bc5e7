-- Records that a player is no longer in a match. If the match is the player's
-- last duel, it is settled.
-- KEYS  1 busy (string), 2 last duel (string)
-- ARGV  1 required value of busy, 2 match id
-- Returns 1 if busy had that value, else 0.
local busy_key, last_duel = KEYS[1], KEYS[2]
local required_busy, match_id = ARGV[1], ARGV[2]
if redis.call('GET', last_duel) == match_id then
  redis.call('DEL', last_duel)
end
if redis.call('GET', busy_key) ~= required_busy then
  return 0
end
return redis.call('DEL', busy_key)
