-- Moves a player who was right in a survival match on, after accept.lua: by
-- rank by the questions survived, then the ms saved; in what a reveal shows by
-- the questions, then the score.
-- KEYS  as of verdict.lua, 9 rank (zset), 10 top (zset), 11 teams (hash)
-- ARGV  as of verdict.lua, 14 team, '' for none
-- Returns as verdict.lua.
if ARGV[9] == '1' then
  local survived = ARGV[4] + 1
  redis.call('ZADD', KEYS[9], string.format('%.0f', survived * 1e9 + saved), ARGV[3])
  redis.call('ZADD', KEYS[10], string.format('%.0f', survived * 1e6 + score), ARGV[3])
  if ARGV[14] ~= '' then
    redis.call('HINCRBY', KEYS[11], 'score|' .. ARGV[14], ARGV[8])
  end
end
return {'accepted', '', answered, m[6], version, 0, {}}
