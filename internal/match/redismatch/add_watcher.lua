-- Lets a person without a seat watch an arena that is not over. A person who
-- has a place keeps it. This also applies after the end, while the match can be
-- read.
-- KEYS  as of add_seat.lua
-- ARGV  1 match id, 2 person, 3 role
-- Returns as add_seat.lua. For a player with a seat the role is player.
local m = redis.call('HMGET', KEYS[1], 'phase', 'seq')
local phase = m[1]
local function reply(verdict, role, team)
  return {verdict, team or '', role, phase or '', redis.call('SMEMBERS', KEYS[9])}
end
local seat = redis.call('HGET', KEYS[2], ARGV[2])
local seated = seat and redis.call('HEXISTS', KEYS[5], 'left|' .. ARGV[2]) == 0
local ended = phase == 'over' or phase == 'settled'
local has_place = seated or redis.call('HEXISTS', KEYS[3], ARGV[2]) == 1
if not phase or ended and (not has_place or m[2] == '0') then -- a match without a push has never begun
  return reply('gone', ARGV[3])
end
if redis.call('SISMEMBER', KEYS[4], ARGV[2]) == 1 then
  return reply('banned', ARGV[3])
end
if seated then
  return reply('in', 'player', string.match(seat, '^[^\n]*'))
end
redis.call('HSET', KEYS[3], ARGV[2], ARGV[3])
local ttl = redis.call('PTTL', KEYS[1])
if ttl > 0 then
  redis.call('PEXPIRE', KEYS[3], ttl)
end
return reply('in', ARGV[3])
