-- Takes the answer of a player back who leaves a survival match before it is
-- revealed: the question is for those who stay to survive. The lock and the
-- record stay, so that there is no second one. After left.lua.
-- KEYS  as of unsit.lua
-- ARGV  as of unsit.lua
-- Returns as sit.lua.
local r = cjson.decode(redis.call('HGET', KEYS[12], m[2] .. '|' .. ARGV[2]))
local points, ms = string.format('%.0f', 0 - r.points), string.format('%.0f', 0 - r.saved_ms)
local survived = m[6] + 1
redis.call('HINCRBY', KEYS[1], 'answered', -1)
redis.call('HINCRBY', KEYS[5], 'answered|' .. ARGV[2], -1)
redis.call('HSET', KEYS[5], 'last|' .. ARGV[2], survived, 'latest|' .. ARGV[2], survived)
if r.correct then
  redis.call('HINCRBY', KEYS[1], 'right', -1)
  redis.call('HINCRBY', KEYS[5], 'correct|' .. ARGV[2], -1)
  local score = redis.call('HINCRBY', KEYS[5], 'score|' .. ARGV[2], points)
  local saved = redis.call('HINCRBY', KEYS[5], 'saved|' .. ARGV[2], ms)
  redis.call('ZADD', KEYS[7], string.format('%.0f', survived * 1e9 + saved - 1e15), ARGV[2])
  redis.call('ZADD', KEYS[8], string.format('%.0f', survived * 1e6 + score - 1e15), ARGV[2])
  if team ~= '' then
    redis.call('HINCRBY', KEYS[6], 'score|' .. team, points)
  end
end
return told('left')
