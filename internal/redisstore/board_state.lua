-- Shared function of the read scripts.
-- KEYS  not used.
-- ARGV  not used.
-- Returns nothing.

-- read_board_state checks that the board set with an id is served, and that a requested span stands for the expected
-- board. KEYS are served (hash: config hash → id of a board set), state (hash), ranking (sorted set), entries (hash) and
-- meta (hash). ARGV are the config hash, the id of the board set, the requested span and the expected value of its field
-- in the state. It returns pos, day, first and oldest of the state, as_of (epoch ms, false: no entries) and the number of
-- ranked entries. It returns nil and an error reply if another board is served, or the board set is corrupt.
local function read_board_state(keys, argv)
  local served, state_key, ranking, entries_key, meta = unpack(keys)
  local config_hash, set_id, span, expected_board = unpack(argv)
  local state = redis.call('HMGET', state_key, 'version', 'span:' .. span, 'pos', 'day', 'first', 'oldest')
  local is_served = redis.call('HGET', served, config_hash) == set_id and state[1] and state[1] ~= 'torn'
  if not is_served or (state[2] or '') ~= expected_board then
    return nil, redis.error_reply('STALE another board is served')
  end
  local board_state = { unpack(state, 3, 6) }
  board_state[5] = redis.call('HLEN', entries_key) > 0 and redis.call('HGET', meta, 'as_of')
  board_state[6] = redis.call('ZCARD', ranking)
  return board_state
end
