-- Shared function of the read scripts.
-- KEYS  not used.
-- ARGV  not used.
-- Returns nothing.

-- read_board_state checks that the board set with an id is served. KEYS are served (hash: config hash → id of a board
-- set), state (hash), ranking (sorted set), entries (hash) and meta (hash). It returns the values of the progress, as_of
-- (epoch ms, false: no entries) and the number of ranked entries. It returns nil and an error reply if the board set is
-- not served or is corrupt.
local function read_board_state(keys, config_hash, set_id)
  local served, state_key, ranking, entries_key, meta = unpack(keys)
  local state = redis.call('HMGET', state_key, 'version', 'epoch', 'pos', 'row', 'day', 'first', 'oldest', 'rolls')
  if redis.call('HGET', served, config_hash) ~= set_id or not state[1] or state[1] == 'torn' then
    return nil, redis.error_reply('NOTREADY the board set is not served')
  end
  local board_state = { unpack(state, 2, 8) }
  board_state[8] = redis.call('HLEN', entries_key) > 0 and redis.call('HGET', meta, 'as_of')
  board_state[9] = redis.call('ZCARD', ranking)
  return board_state
end
