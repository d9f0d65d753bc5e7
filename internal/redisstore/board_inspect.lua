-- Reads entries of several boards with their keys in every ranking, at one moment.
-- KEYS  1 state (hash). Then for each board: entries (hash), its rankings (sorted sets).
-- ARGV  1 number of rankings per board. Then for each board: count n of ids (at most 1000), n ids.
-- Returns the progress in the state, and one list per board.
--         A list has the board's size and the packed entries of the ids (nil: no entry).
--         Then for each ranking: its size and the keys of the ids (nil: not ranked).
--         The error is STALE if the board set is lost, corrupt or being loaded.
local state = redis.call('HMGET', KEYS[1], 'version', 'loading', 'progress')
if not state[1] or state[1] == 'torn' or state[2] ~= '0' then
  return redis.error_reply('STALE the board set is lost, corrupt or being loaded')
end
local reply = { state[3] }
local rankings = tonumber(ARGV[1])
local key, arg = 2, 2
while arg <= #ARGV do
  local count = tonumber(ARGV[arg])
  local entries, members = {}, {}
  if count > 0 then
    entries = redis.call('HMGET', KEYS[key], unpack(ARGV, arg + 1, arg + count))
  end
  for i = 1, count do
    local newest = entries[i] and string.sub(entries[i], 1, 16) or ''
    members[i] = newest .. ':' .. ARGV[arg + i]
  end
  local board = { redis.call('HLEN', KEYS[key]), entries }
  for i = key + 1, key + rankings do
    board[#board + 1] = redis.call('ZCARD', KEYS[i])
    board[#board + 1] = count > 0 and redis.call('ZMSCORE', KEYS[i], unpack(members)) or {}
  end
  reply[#reply + 1] = board
  key = key + 1 + rankings
  arg = arg + 1 + count
end
return reply
