-- Gives a player a seat in an arena that is in its lobby, or plays and allows late joins.
-- The open question then waits for the player, too. A player who has a seat keeps it.
-- This also applies after the end, while the match can be read.
-- KEYS  1 match (hash), 2 seats (hash), 3 roles (hash), 4 banned (set),
--       5 totals (hash), 6 teams (hash), 7 rank (zset), 8 top (zset),
--       9 due:{p} (zset), 10 seq:{p} (hash)
-- ARGV  1 match id, 2 player, 3 seat (JSON, without its team), 4 team, '' for
--       the one with the fewest players, 5 how many seats the arena may have, 6 1 if late
--       joins are allowed, else 0, 7… teams
-- Returns {verdict, team, role, phase, nodes}.
local match, seats, roles, bans, totals, teams, rank, top, _, seq_key = unpack(KEYS)
local id, player, new_seat, wanted_team, max_seats, is_late_allowed = unpack(ARGV, 1, 6)
local m = redis.call('HMGET', match, 'phase', 'locked', 'players', 'mode', 'seq', 'nodes')
local function reply(verdict, team)
  return {verdict, team or '', 'player', m[1] or '', m[6] or ''}
end
local seat = redis.call('HGET', seats, player)
local is_seated = seat and redis.call('HEXISTS', totals, 'left|' .. player) == 0
local is_over = m[1] == 'over' or m[1] == 'settled'
if not m[1] or is_over and (not is_seated or m[5] == '0') then -- a match without a push has never begun
  return reply('gone')
end
if redis.call('SISMEMBER', bans, player) == 1 then
  return reply('banned')
end
if is_seated then
  return reply('in', string.match(seat, '^[^\n]*'))
end
if m[1] ~= 'lobby' and (is_late_allowed == '0' or seat) then -- a player who left cannot begin anew
  return reply('started')
end
if m[2] == '1' then
  return reply('locked')
end
if tonumber(m[3]) >= tonumber(max_seats) then
  return reply('full')
end
local team, fewest = wanted_team, nil
for i = 7, wanted_team == '' and #ARGV or 0 do
  local n = tonumber(redis.call('HGET', teams, 'players|' .. ARGV[i]) or 0)
  if not fewest or n < fewest then
    team, fewest = ARGV[i], n
  end
end
redis.call('HDEL', roles, player)
redis.call('HSET', seats, player, team .. '\n' .. new_seat)
redis.call('ZADD', rank, 0, player)
if m[4] == 'survival' then
  redis.call('ZADD', top, 0, player)
end
if team ~= '' then
  redis.call('HINCRBY', teams, 'players|' .. team, 1)
end
local ttl = redis.call('PTTL', match)
if redis.call('HINCRBY', match, 'players', 1) == 1 and ttl > 0 then -- these keys are new
  redis.call('HSET', totals, '|wide', string.rep('.', 65))
  for _, key in ipairs({seats, totals, teams, rank, top}) do
    redis.call('PEXPIRE', key, ttl)
  end
end
if m[1] == 'open' then
  redis.call('HINCRBY', match, 'alive', 1)
end
redis.call('HSET', seq_key, id .. '|v', redis.call('HINCRBY', match, 'version', 1))
return reply('in', team)
