-- Lets a person without a seat watch an arena that is not over. A person who
-- has a place keeps it. This also applies after the end, while the match can be
-- read.
-- KEYS  as of add_seat.lua
-- ARGV  1 match id, 2 person, 3 role
-- Returns as add_seat.lua. For a player with a seat the role is player.
local match, seats, roles, bans, totals = unpack(KEYS)
local _, person, new_role = unpack(ARGV)
local m = redis.call('HMGET', match, 'phase', 'seq', 'nodes')
local phase = m[1]
local function reply(verdict, role, team)
  return {verdict, team or '', role, phase or '', m[3] or ''}
end
local seat = redis.call('HGET', seats, person)
local is_seated = seat and redis.call('HEXISTS', totals, 'left|' .. person) == 0
local is_over = phase == 'over' or phase == 'settled'
local has_place = is_seated or redis.call('HEXISTS', roles, person) == 1
if not phase or is_over and (not has_place or m[2] == '0') then -- a match without a push has never begun
  return reply('gone', new_role)
end
if redis.call('SISMEMBER', bans, person) == 1 then
  return reply('banned', new_role)
end
if is_seated then
  return reply('in', 'player', string.match(seat, '^[^\n]*'))
end
redis.call('HSET', roles, person, new_role)
local ttl = redis.call('PTTL', match)
if ttl > 0 then
  redis.call('PEXPIRE', roles, ttl)
end
return reply('in', new_role)
