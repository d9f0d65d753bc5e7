-- Ends a place in an arena. In the lobby it deletes the seat. Later the seat
-- stays, but the player may not answer any more, and the question does not wait
-- for the player. It counts the ended places, so that nodes look for sessions
-- without a place.
-- KEYS  1…11 as of add_seat.lua, 12 answers (hash), 13 exit:PLAYER (string)
-- ARGV  1 match id, 2 person, 3 with a ban: how many bans the arena may have, else
--       0, 4 time to live of the exit (ms)
-- Returns as add_seat.lua. 'banned': the person has no place and is banned already.
-- 'full': there are too many bans, and nothing was changed.
local m = redis.call('HMGET', KEYS[1], 'phase', 'question', 'mode', 'alive', 'answered', 'last', 'opens_at')
local role, team, ttl = redis.call('HGET', KEYS[3], ARGV[2]) or '', '', redis.call('PTTL', KEYS[1])
local function reply(verdict)
  return {verdict, team, role, m[1] or '', redis.call('SMEMBERS', KEYS[9])}
end
local function expire(key)
  return ttl > 0 and redis.call('PEXPIRE', key, ttl)
end
if not m[1] or m[1] == 'over' or m[1] == 'settled' then
  return reply('gone')
end
local seat, banned = redis.call('HGET', KEYS[2], ARGV[2]), redis.call('SISMEMBER', KEYS[4], ARGV[2]) == 1
if role == '' and not seat then
  return reply(banned and 'banned' or 'out')
end
if ARGV[3] ~= '0' and not banned then
  if redis.call('SCARD', KEYS[4]) >= tonumber(ARGV[3]) then
    return reply('full')
  end
  redis.call('SADD', KEYS[4], ARGV[2])
  expire(KEYS[4])
end
local watched = redis.call('HDEL', KEYS[3], ARGV[2]) == 1
local removed = watched or m[1] == 'lobby'
if not watched then
  team, role = string.match(seat, '^[^\n]*'), 'player'
end
if not removed then
  if redis.call('HSETNX', KEYS[5], 'left|' .. ARGV[2], 1) == 0 then
    return reply('left')
  end
  expire(KEYS[5])
  redis.call('HINCRBY', KEYS[1], 'left', 1)
elseif not watched then
  redis.call('HDEL', KEYS[2], ARGV[2])
  redis.call('ZREM', KEYS[7], ARGV[2])
  redis.call('ZREM', KEYS[8], ARGV[2])
  redis.call('HINCRBY', KEYS[1], 'players', -1)
  if team ~= '' then
    redis.call('HINCRBY', KEYS[6], 'players|' .. team, -1)
  end
end
redis.call('HINCRBY', KEYS[1], 'ended', 1)
redis.call('HSET', KEYS[11], ARGV[1] .. '|v', redis.call('HINCRBY', KEYS[1], 'version', 1))
if removed then
  return reply('out')
end
