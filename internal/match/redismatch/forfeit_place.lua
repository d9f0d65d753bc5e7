-- Applies the effect of a player who leaves a running match. In rank the player
-- is behind all who stay. The question no longer waits for an answer of the
-- player. A buzzer race of the player fails. Runs after remove_place.lua;
-- continues with retract_answer.lua if an answer must be retracted.
-- KEYS  as of remove_place.lua
-- ARGV  as of remove_place.lua
-- Returns as add_seat.lua.
redis.call('ZINCRBY', KEYS[7], -1e15, ARGV[2])
local sums = redis.call('HGET', KEYS[5], ARGV[2]) or '0 0 0 0 0 0'
local score, correct, count, saved, last, latest = string.match(sums, '(%d+) (%d+) (%d+) (%d+) (%d+) (%d+)')
local survival, closing = m[3] == 'survival', m[1] == 'open' or m[1] == 'sealed'
local answered = closing and tonumber(latest) == m[2] + 1
if not survival then
  redis.call('SET', KEYS[13], 1, 'PX', ARGV[4])
else
  redis.call('ZINCRBY', KEYS[8], -1e15, ARGV[2])
  if tonumber(last) <= tonumber(m[6]) then
    return reply('left') -- was eliminated before
  end
end
if m[1] == 'countdown' or m[1] == 'revealed' or survival and closing or m[1] == 'open' and not answered then
  local alive = redis.call('HINCRBY', KEYS[1], 'alive', -1)
  local others = m[5] - (survival and answered and 1 or 0)
  if m[1] == 'open' and others >= alive then
    redis.call('ZADD', KEYS[10], m[7], ARGV[1])
  end
end
if not survival or not answered then
  return reply('left')
end
