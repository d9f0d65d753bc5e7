-- Ranks a player who was right in a survival match. The rank follows the
-- questions survived, then the saved ms. The list of a reveal follows the
-- questions, then the score. Runs between judge_answers.lua and
-- accept_answers.lua.
-- KEYS  as of judge_answers.lua, 8 rank (zset), 9 top (zset), 10 teams (hash)
-- ARGV  as of judge_answers.lua, per attempt 10 team, '' for none
-- Returns as judge_answers.lua.
local function apply_mode(_, a, answered, score, saved)
  if a[8] == '1' then
    local survived = a[3] + 1
    redis.call('ZADD', KEYS[8], string.format('%.0f', survived * 1e9 + saved), a[2])
    redis.call('ZADD', KEYS[9], string.format('%.0f', survived * 1e6 + score), a[2])
    if a[10] ~= '' then
      redis.call('HINCRBY', KEYS[10], 'score|' .. a[10], a[7])
    end
  end
  return answered
end
