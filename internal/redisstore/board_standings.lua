-- Reads the standings of a few entries, at one moment. It runs after board_state.lua.
-- KEYS  1 served (hash), 2 state (hash), 3 ranking (sorted set), 4 entries (hash), 5 meta (hash).
-- ARGV  1 config hash, 2 id of the board set, 3 requested span, 4 expected board, 5 with_next, 6 with_tie,
--       7.. ids, at most 200.
-- With_next is 1 if the key of the next better rank is wanted. With_tie is 1 if the place among equal entries is wanted.
-- Returns the board state, then one list per ranked entry, in the order of ARGV. A list has
--         1 id, 2 key, 3 packed entry, 4 better: number of entries with better keys,
--         5 index in the ranking, from 0, 6 equal: number of entries with the same key (5 and 6: 0 without with_tie),
--         7 key of the next better rank (empty: none, or without with_next).
-- The error is STALE if another board is served, or the board set is corrupt.
local ranking, entries_key = KEYS[3], KEYS[4]
local with_next, with_tie = ARGV[5] == '1', ARGV[6] == '1'
local board_state, stale = read_board_state(KEYS, ARGV)
if not board_state then
  return stale
end
local reply = { board_state }
local entries, members, keys = {}, {}, {}
if #ARGV > 6 then
  entries = redis.call('HMGET', entries_key, unpack(ARGV, 7))
  for i, packed in ipairs(entries) do
    members[i] = (packed and string.sub(packed, 1, 16) or '') .. ':' .. ARGV[i + 6]
  end
  keys = redis.call('ZMSCORE', ranking, unpack(members))
end
for i, key in ipairs(keys) do
  if key then
    local better = redis.call('ZCOUNT', ranking, '-inf', '(' .. key)
    local index, equal, next_key = 0, 0, ''
    if with_tie then
      index = redis.call('ZRANK', ranking, members[i])
      equal = redis.call('ZCOUNT', ranking, key, key)
    end
    if with_next and better > 0 then
      next_key = redis.call('ZRANGE', ranking, better - 1, better - 1, 'WITHSCORES')[2]
    end
    reply[#reply + 1] = { ARGV[i + 6], key, entries[i], better, index, equal, next_key }
  end
end
return reply
