-- Reads entries of several boards with their keys in every ranking, at one moment.
-- KEYS  1 state (hash). Then for each board: entries (hash), its rankings (sorted sets).
-- ARGV  1 number of rankings per board, 2.. ids, at most 1000.
-- Returns the progress in the state, and one list per board.
--         A list has the board's size and the packed entries of the ids (nil: no entry).
--         Then for each ranking: its size and the keys of the ids (nil: not ranked).
--         The error is STALE if the board set is lost, corrupt or being loaded.

local rankings = tonumber(ARGV[1])
local ids = { unpack(ARGV, 2) }

local state = redis.call('HMGET', KEYS[1], 'version', 'loading', 'progress')
if not state[1] or state[1] == 'torn' or state[2] ~= '0' then
  return redis.error_reply('STALE the board set is lost, corrupt or being loaded')
end
local reply = { state[3] }
for key = 2, #KEYS, 1 + rankings do
  local entries, members = {}, {}
  if #ids > 0 then
    entries = redis.call('HMGET', KEYS[key], unpack(ids))
  end
  for i, id in ipairs(ids) do
    members[i] = (entries[i] and string.sub(entries[i], 1, 16) or '') .. ':' .. id
  end
  local board = { redis.call('HLEN', KEYS[key]), entries }
  for i = key + 1, key + rankings do
    board[#board + 1] = redis.call('ZCARD', KEYS[i])
    board[#board + 1] = #ids > 0 and redis.call('ZMSCORE', KEYS[i], unpack(members)) or {}
  end
  reply[#reply + 1] = board
end
return reply
