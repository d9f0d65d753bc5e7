-- Shared function of the read scripts.
-- KEYS  not used.
-- ARGV  not used.
-- Returns nothing.

-- read_board_state returns the values of the progress, as_of (epoch ms, false: no entries) and the number of ranked
-- entries. It returns nil and an error reply if the board set is not served or is corrupt.
local function read_board_state(state_key, ranking, entries_key, meta)
  local state = redis.call('HMGET', state_key, 'ready', 'version',
    'epoch', 'pos', 'row', 'day', 'first', 'oldest', 'rolls')
  if state[1] ~= '1' or state[2] == 'torn' then
    return nil, redis.error_reply('NOTREADY the board set is not served')
  end
  local board_state = { unpack(state, 3, 9) }
  board_state[8] = redis.call('HLEN', entries_key) > 0 and redis.call('HGET', meta, 'as_of')
  board_state[9] = redis.call('ZCARD', ranking)
  return board_state
end
