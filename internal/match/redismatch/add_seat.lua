-- Gives a player a seat in an arena that is in its lobby. A player who has a
-- seat keeps it. This also applies after the end, while the match can be read.
-- KEYS  1 match (hash), 2 seats (hash), 3 roles (hash), 4 banned (set),
--       5 totals (hash), 6 teams (hash), 7 rank (zset), 8 top (zset),
--       9 nodes (set), 10 due:{p} (zset), 11 seq:{p} (hash)
-- ARGV  1 match id, 2 player, 3 seat (JSON, without its team), 4 team, '' for
--       the one with the fewest players, 5 how many seats the arena may have, 6… teams
-- Returns {verdict, team, role, phase, nodes}.
local m = redis.call('HMGET', KEYS[1], 'phase', 'locked', 'players', 'mode', 'seq')
local function reply(verdict, team)
  return {verdict, team or '', 'player', m[1] or '', redis.call('SMEMBERS', KEYS[9])}
end
local seat = redis.call('HGET', KEYS[2], ARGV[2])
local seated = seat and redis.call('HEXISTS', KEYS[5], 'left|' .. ARGV[2]) == 0
local ended = m[1] == 'over' or m[1] == 'settled'
if not m[1] or ended and (not seated or m[5] == '0') then -- a match without a push has never begun
  return reply('gone')
end
if redis.call('SISMEMBER', KEYS[4], ARGV[2]) == 1 then
  return reply('banned')
end
if seated then
  return reply('in', string.match(seat, '^[^\n]*'))
end
if m[1] ~= 'lobby' then
  return reply('started')
end
if m[2] == '1' then
  return reply('locked')
end
if tonumber(m[3]) >= tonumber(ARGV[5]) then
  return reply('full')
end
local team, fewest = ARGV[4], nil
for i = 6, ARGV[4] == '' and #ARGV or 0 do
  local n = tonumber(redis.call('HGET', KEYS[6], 'players|' .. ARGV[i]) or 0)
  if not fewest or n < fewest then
    team, fewest = ARGV[i], n
  end
end
redis.call('HDEL', KEYS[3], ARGV[2])
redis.call('HSET', KEYS[2], ARGV[2], team .. '\n' .. ARGV[3])
redis.call('ZADD', KEYS[7], 0, ARGV[2])
if m[4] == 'survival' then
  redis.call('ZADD', KEYS[8], 0, ARGV[2])
end
if team ~= '' then
  redis.call('HINCRBY', KEYS[6], 'players|' .. team, 1)
end
local ttl = redis.call('PTTL', KEYS[1])
if redis.call('HINCRBY', KEYS[1], 'players', 1) == 1 and ttl > 0 then -- these keys are new
  redis.call('HSET', KEYS[5], '|wide', string.rep('.', 65))
  for _, key in ipairs({KEYS[2], KEYS[5], KEYS[6], KEYS[7], KEYS[8]}) do
    redis.call('PEXPIRE', key, ttl)
  end
end
redis.call('HSET', KEYS[11], ARGV[1] .. '|v', redis.call('HINCRBY', KEYS[1], 'version', 1))
return reply('in', team)
