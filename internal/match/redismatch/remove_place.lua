-- Ends a place in an arena, and its extra time. In the lobby it deletes the seat. Later
-- the seat stays, but the player may not answer any more, ranks behind all who stay, and
-- the question does not wait for the player. A survival match retracts the player's
-- unrevealed answer; its record stays, so that the player cannot answer again. The
-- script counts the ended places, so that nodes look for sessions without a place. A
-- repeated attempt gets the first reply.
-- KEYS  1 match (hash), 2 seats (hash), 3 roles (hash), 4 banned (set),
--       5 totals (hash, see accept_answers.lua), 6 teams (hash), 7 rank (zset),
--       8 top (zset), 9 due:{p} (zset), 10 seq:{p} (hash), 11 answers (hash),
--       12 guard:PLAYER (string: ATTEMPT, verdict, team and role by lines), 13 counts (zset)
-- ARGV  1 match id, 2 attempt id, 3 person, 4 with a ban: how many bans the arena may have,
--       else 0, 5 time to live of the guard (ms)
-- Returns {verdict, team, role, phase, nodes}. 'banned': the person has no place and is
-- banned already. 'full': there are too many bans, and nothing has changed.
local match, seats, roles, bans, totals, teams, rank, top, due, seq_key, answers, guard, counts = unpack(KEYS)
local id, attempt, person, max_bans, guard_ttl = unpack(ARGV)
local m = redis.call('HMGET', match, 'phase', 'question', 'mode', 'alive', 'answered', 'last', 'opens_at', 'extra', 'nodes')
local phase, question, is_survival, opens_at = m[1], m[2], m[3] == 'survival', m[7]
local role, team, ttl = redis.call('HGET', roles, person) or '', '', redis.call('PTTL', match)
local function reply(verdict)
  return {verdict, team, role, phase or '', m[9] or ''}
end
local function expire(key)
  return ttl > 0 and redis.call('PEXPIRE', key, ttl)
end
local former, verdict, former_team, former_role = string.match(redis.call('GET', guard) or '', '^(.*)\n(.*)\n(.*)\n(.*)$')
if former == attempt then
  return {verdict, former_team, former_role, phase or '', m[9] or ''}
end
if not phase or phase == 'over' or phase == 'settled' then
  return reply('gone')
end
local seat, is_banned = redis.call('HGET', seats, person), redis.call('SISMEMBER', bans, person) == 1
if role == '' and not seat then
  return reply(is_banned and 'banned' or 'out')
end
if max_bans ~= '0' and not is_banned then
  if redis.call('SCARD', bans) >= tonumber(max_bans) then
    return reply('full')
  end
  redis.call('SADD', bans, person)
  expire(bans)
end
local is_watcher = redis.call('HDEL', roles, person) == 1
local is_removed = is_watcher or phase == 'lobby'
verdict = is_removed and 'out' or 'left'
if not is_watcher then
  team, role = string.match(seat, '^[^\n]*'), 'player'
end
if not is_removed then
  if redis.call('HSETNX', totals, 'left|' .. person, 1) == 0 then
    return reply(verdict)
  end
  expire(totals)
  redis.call('HINCRBY', match, 'left', 1)
elseif not is_watcher then
  redis.call('HDEL', seats, person)
  redis.call('ZREM', rank, person)
  redis.call('ZREM', top, person)
  redis.call('HINCRBY', match, 'players', -1)
  if team ~= '' then
    redis.call('HINCRBY', teams, 'players|' .. team, -1)
  end
end
if not is_watcher and m[8] and m[8] ~= '' then
  local kept = {}
  for _, other in ipairs(cjson.decode(m[8])) do
    kept[#kept + 1] = other.player ~= person and other or nil
  end
  redis.call('HSET', match, 'extra', #kept > 0 and cjson.encode(kept) or '')
end
redis.call('HINCRBY', match, 'ended', 1)
redis.call('HSET', seq_key, id .. '|v', redis.call('HINCRBY', match, 'version', 1))
redis.call('SET', guard, table.concat({attempt, verdict, team, role}, '\n'), 'PX', guard_ttl) -- a buzzer race of the player fails
if is_removed then
  return reply(verdict)
end

-- The player leaves a running match.
redis.call('ZINCRBY', rank, -1e15, person)
local score, correct, count, saved, last_right, latest, streak =
  string.match(redis.call('HGET', totals, person) or '0 0 0 0 0 0 0', '(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)')
local is_unrevealed = phase == 'open' or phase == 'sealed'
local has_answered = is_unrevealed and tonumber(latest) == question + 1
if is_survival then
  redis.call('ZINCRBY', top, -1e15, person)
  if tonumber(last_right) <= tonumber(m[6]) then
    return reply(verdict) -- the player was eliminated before
  end
end
if phase == 'countdown' or phase == 'revealed' or is_survival and is_unrevealed or phase == 'open' and not has_answered then
  local alive = redis.call('HINCRBY', match, 'alive', -1)
  local others = m[5] - (is_survival and has_answered and 1 or 0)
  if phase == 'open' and others >= alive then
    redis.call('ZADD', due, opens_at, id)
  end
end
if not is_survival or not has_answered then
  return reply(verdict)
end

-- The question counts only for the players who stay.
local record = cjson.decode(redis.call('HGET', answers, question .. '|' .. person))
local survived = m[6] + 1
redis.call('HINCRBY', match, 'answered', -1)
for value in string.gmatch(record.normal, string.sub(record.normal, 1, 2) == 'm:' and '%d+' or '.+') do
  redis.call('ZINCRBY', counts, -1, value)
end
if record.correct then
  score, correct, saved, streak = score - record.points, correct - 1, saved - record.saved_ms, streak - 1
  redis.call('HINCRBY', match, 'right', -1)
  redis.call('ZADD', rank, string.format('%.0f', survived * 1e9 + saved - 1e15), person)
  redis.call('ZADD', top, string.format('%.0f', survived * 1e6 + score - 1e15), person)
  if team ~= '' then
    redis.call('HINCRBY', teams, 'score|' .. team, string.format('%.0f', 0 - record.points))
  end
end
redis.call('HSET', totals, person,
  string.format('%.0f %.0f %.0f %.0f %.0f %.0f %.0f', score + 0, correct + 0, count - 1, saved + 0, survived, survived, streak + 0))
return reply(verdict)
