-- Lets somebody without a seat watch an arena that is not over. Who has a place
-- keeps it, also when the match is over, as long as it can be read.
-- KEYS  as of add_seat.lua
-- ARGV  1 match id, 2 who, 3 role
-- Returns as add_seat.lua; who has a seat keeps it, and is told so.
local m = redis.call('HMGET', KEYS[1], 'phase', 'seq')
local phase = m[1]
local function told(verdict, role, team)
  return {verdict, team or '', role, phase or '', redis.call('SMEMBERS', KEYS[9])}
end
local seat = redis.call('HGET', KEYS[2], ARGV[2])
local sits = seat and redis.call('HEXISTS', KEYS[5], 'left|' .. ARGV[2]) == 0
local ended = phase == 'over' or phase == 'settled'
local placed = sits or redis.call('HEXISTS', KEYS[3], ARGV[2]) == 1
if not phase or ended and (not placed or m[2] == '0') then -- a match without a push has never begun
  return told('gone', ARGV[3])
end
if redis.call('SISMEMBER', KEYS[4], ARGV[2]) == 1 then
  return told('banned', ARGV[3])
end
if sits then
  return told('in', 'player', string.match(seat, '^[^\n]*'))
end
redis.call('HSET', KEYS[3], ARGV[2], ARGV[3])
local ttl = redis.call('PTTL', KEYS[1])
if ttl > 0 then
  redis.call('PEXPIRE', KEYS[3], ttl)
end
return told('in', ARGV[3])
