-- Reads neighbouring entries of a ranking, at one moment. It runs after board_state.lua.
-- KEYS  1 served (hash), 2 state (hash), 3 ranking (sorted set), 4 entries (hash), 5 meta (hash).
-- ARGV  1 config hash, 2 id of the board set, 3 requested span, 4 expected board, 5 limit, 0 to 200,
--       6 anchor: top, around, after or before, 7 id of the entry (around) or key of the edge, 8 member of the edge.
-- The anchor top reads the first entries. Around reads from half the limit before an entry. After reads the entries
-- behind an edge, and before reads those before it.
-- Returns 1 the board state, 2 start: index of the first entry, from 0, 3 better: number of entries with a better key
--         than the first, 4 list of members and keys, alternately, 5 list of the packed entries.
-- It returns only the board state if the entry of around is not ranked. The error is STALE if another board is served,
-- or the board set is corrupt.
local ranking, entries_key = KEYS[3], KEYS[4]
local limit, anchor, edge_key, edge_member = tonumber(ARGV[5]), ARGV[6], ARGV[7], ARGV[8]
local board_state, stale = read_board_state(KEYS, ARGV)
if not board_state then
  return stale
end

-- index_around returns the index of the first entry of an even selection around an entry; nil: it is not ranked.
local function index_around(id)
  local packed = redis.call('HGET', entries_key, id)
  local index = packed and redis.call('ZRANK', ranking, string.sub(packed, 1, 16) .. ':' .. id)
  return index and index - math.floor(limit / 2)
end

-- count_at_edge returns the number of entries before the edge, and with the entry at the edge. That entry may no longer
-- be in the ranking; a binary search by position then finds its place among entries with an equal key.
local function count_at_edge(key, member)
  local score = redis.call('ZSCORE', ranking, member)
  if score and tonumber(score) == tonumber(key) then
    local before = redis.call('ZRANK', ranking, member)
    return before, before + 1
  end
  local before, through = redis.call('ZCOUNT', ranking, '-inf', '(' .. key), redis.call('ZCOUNT', ranking, '-inf', key)
  local position = tonumber(string.sub(member, 1, 16))
  while before < through do
    local middle = math.floor((before + through) / 2)
    local other = redis.call('ZRANGE', ranking, middle, middle)[1]
    if tonumber(string.sub(other, 1, 16)) < position then
      before = middle + 1
    else
      through = middle
    end
  end
  return before, through
end

local start, stop = 0, limit - 1 -- the selected indexes; none if stop is below start
if anchor == 'around' then
  local first = index_around(edge_key)
  if not first then
    return { board_state }
  end
  start, stop = math.max(0, first), first + limit - 1
elseif anchor ~= 'top' then
  local before, through = count_at_edge(edge_key, edge_member)
  start, stop = through, through + limit - 1
  if anchor == 'before' then
    start, stop = math.max(0, before - limit), before - 1
  end
end

local found, ids, entries, better = {}, {}, {}, 0
if stop >= start then
  found = redis.call('ZRANGE', ranking, start, stop, 'WITHSCORES')
end
for i = 1, #found, 2 do
  ids[#ids + 1] = string.sub(found[i], 18)
end
if #ids > 0 then
  better = redis.call('ZCOUNT', ranking, '-inf', '(' .. found[2])
  entries = redis.call('HMGET', entries_key, unpack(ids))
end
return { board_state, start, better, found, entries }
