-- Records that players are no longer in a match. If the match is a player's last duel,
-- it is settled.
-- KEYS  for each player busy (string) and last duel (string)
-- ARGV  match id of each player
-- Returns the number of players who were in the match.
local freed = 0
for i, match_id in ipairs(ARGV) do
  local busy_key, last_duel = KEYS[2 * i - 1], KEYS[2 * i]
  if redis.call('GET', last_duel) == match_id then
    redis.call('DEL', last_duel)
  end
  if redis.call('GET', busy_key) == 'match:' .. match_id then
    freed = freed + redis.call('DEL', busy_key)
  end
end
return freed
