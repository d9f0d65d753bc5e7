-- Reads a match at one instant. It can also add the caller's node to the nodes that
-- hold sessions of the match.
-- KEYS  1 match (hash), 2 plan (string), 3 log (list), 4 answers (hash),
--       5 totals (hash), 6 seats (hash), 7 teams (hash), 8 rank (zset),
--       9 top (zset), 10 counts (zset: answers to the question by value)
-- ARGV  1 1 if the plan is wanted, else 0, 2 number after which frames are
--       wanted (about 64 KiB of them, the caller reads the rest), -1 for none,
--       3 highest version that the caller's node has seen, 4 the node, 5 the version after
--       its newest write, 6 node to add, '' for none, 7 1 if ranks are
--       wanted, else 0, 8 largest match with all players listed, 0 for no
--       list, 9 number of listed players of a larger one, 10… requested players
-- Returns {state, plan, frames, teams, listed players, their seats,
-- records of the current question, sums and left marks ({} if no player has left)
-- of listed and requested players, ranks of requested players, in a race the points that
-- each is behind the next better score, most frequent values and their counts}; {} if
-- Redis has lost writes that the node has seen; nil if the match does not exist.
local match, plan_key, log, answers, totals, seats_key, teams_key, rank, top, counts = unpack(KEYS)
local wants_plan, after, seen_version, own_node, written, node, wants_ranks, full_list, short_list = unpack(ARGV, 1, 9)
local m = redis.call('HMGET', match, 'phase', 'question', 'version', 'players', 'ending', 'mode', 'left', 'nodes', 'w|' .. own_node)
if not m[1] then
  return false
end
if tonumber(m[3]) < tonumber(seen_version) or tonumber(m[9] or 0) < tonumber(written) then
  return {}
end
if node ~= '' and not string.find(' ' .. m[8] .. ' ', ' ' .. node .. ' ', 1, true) then
  redis.call('HSET', match, 'nodes', m[8] == '' and node or m[8] .. ' ' .. node)
end
local shown, seats, teams, ranks, gaps, values = {}, {}, {}, {}, {}, {}
if full_list ~= '0' then
  local by_rank = m[1] == 'revealed' or m[1] == 'over' or m[1] == 'settled' or m[5] ~= '' or m[6] ~= 'survival'
  local count = tonumber(m[4]) <= tonumber(full_list) and full_list or short_list
  shown = redis.call('ZREVRANGE', by_rank and rank or top, 0, count - 1)
  seats = #shown > 0 and redis.call('HMGET', seats_key, unpack(shown)) or {}
  teams = redis.call('HGETALL', teams_key)
  values = m[6] ~= 'duel' and redis.call('ZREVRANGE', counts, 0, 15, 'WITHSCORES') or {}
end
local players, rank_by_score, gap_by_points = {unpack(shown)}, {}, {}
local scores = wants_ranks == '1' and #ARGV > 9 and redis.call('ZMSCORE', rank, unpack(ARGV, 10)) or {}
for i = 10, #ARGV do
  players[#players + 1] = ARGV[i]
  local score = scores[i - 9]
  if score and not rank_by_score[score] then
    rank_by_score[score] = redis.call('ZCOUNT', rank, '(' .. score, '+inf') + 1
  end
  ranks[#ranks + 1] = score and rank_by_score[score] or 0
  local points = m[6] == 'race' and score and string.sub(score, 1, 1) ~= '-' and math.floor(score / 1e9)
  if points and not gap_by_points[points] then
    local better = redis.call('ZRANGEBYSCORE', rank, (points + 1) * 1e9, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
    gap_by_points[points] = better[2] and math.floor(better[2] / 1e9) - points or 0
  end
  gaps[#gaps + 1] = points and gap_by_points[points] or 0
end
local function read_fields(key, prefix)
  local fields = {}
  for i = 1, #players do fields[i] = prefix .. players[i] end
  return #fields > 0 and redis.call('HMGET', key, unpack(fields)) or {}
end
local plan = wants_plan == '1' and redis.call('GET', plan_key) or ''
local frames, size, at = {}, 0, tonumber(after)
while at >= 0 and size < 65536 do
  for _, frame in ipairs(redis.call('LRANGE', log, at, at + 7)) do
    frames[#frames + 1], size = frame, size + #frame
  end
  at = #frames == at + 8 - after and at + 8 or -1
end
return {redis.call('HGETALL', match), plan, frames, teams,
  shown, seats, read_fields(answers, m[2] .. '|'), read_fields(totals, ''),
  m[7] == '0' and {} or read_fields(totals, 'left|'), ranks, gaps, values}
