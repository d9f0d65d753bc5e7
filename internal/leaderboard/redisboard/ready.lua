-- First part of every read script. It checks that the board set is served and not corrupt.
-- KEYS  1 state (hash), 2 ranking (sorted set), 3 entries (hash), 4 meta (hash).
-- ARGV  not used.
-- Returns the error NOTREADY if the board set is not served or is corrupt. Otherwise it sets ranking and board_state.
--       board_state has the values of the progress, as_of (epoch ms, nil: no entries) and the number of ranked entries.
local state = redis.call('HMGET', KEYS[1], 'ready', 'version',
  'epoch', 'pos', 'row', 'day', 'first', 'oldest', 'rolls')
if state[1] ~= '1' or state[2] == 'torn' then
  return redis.error_reply('NOTREADY the board set is not served')
end
local ranking = KEYS[2]
local board_state = { unpack(state, 3, 9) }
board_state[8] = redis.call('HLEN', KEYS[3]) > 0 and redis.call('HGET', KEYS[4], 'as_of')
board_state[9] = redis.call('ZCARD', ranking)
