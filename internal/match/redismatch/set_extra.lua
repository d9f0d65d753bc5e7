-- Gives a player of an arena in its lobby extra time, or takes it away.
-- KEYS  as of add_seat.lua
-- ARGV  1 match id, 2 player, 3 extra time in percent, 0 for none, 4 how many players may
--       have extra time
-- Returns as add_seat.lua. 'out': the player has no seat. 'full': too many have extra time.
local match, seats, seq_key = KEYS[1], KEYS[2], KEYS[10]
local id, player, percent, max_extra = unpack(ARGV)
local m = redis.call('HMGET', match, 'phase', 'extra')
local function reply(verdict)
  return {verdict, '', 'player', m[1] or '', ''}
end
if not m[1] or m[1] == 'over' or m[1] == 'settled' then
  return reply('gone')
elseif m[1] ~= 'lobby' then
  return reply('started')
end
local seat = redis.call('HGET', seats, player)
if not seat then
  return reply('out')
end
local kept, former = {}, '0'
for _, other in ipairs(m[2] and m[2] ~= '' and cjson.decode(m[2]) or {}) do
  if other.player == player then
    former = string.format('%.0f', other.percent)
  else
    kept[#kept + 1] = other
  end
end
if percent ~= '0' then
  if #kept >= tonumber(max_extra) then
    return reply('full')
  end
  local nickname = cjson.decode(string.match(seat, '\n(.*)')).nickname
  kept[#kept + 1] = {player = player, nickname = nickname, percent = tonumber(percent)}
end
if percent ~= former then
  redis.call('HSET', match, 'extra', #kept > 0 and cjson.encode(kept) or '')
  redis.call('HSET', seq_key, id .. '|v', redis.call('HINCRBY', match, 'version', 1))
end
return reply('in')
