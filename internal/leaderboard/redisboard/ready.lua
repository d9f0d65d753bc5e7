-- First part of every read script. It checks that the generation is served and not corrupt.
-- KEYS  1 state (hash), 2 ranking (sorted set), 3 parts (hash), 4 meta (hash).
-- ARGV  none of its own.
-- Returns the error NOTREADY if the generation is not served. Otherwise it sets ranking and read.
--       read has the values of the state's progress, as_of (epoch ms, nil: no entries) and total.
local state = redis.call('HMGET', KEYS[1], 'ready', 'stamp',
  'epoch', 'pos', 'row', 'day', 'first', 'oldest', 'rolls')
if state[1] ~= '1' or state[2] == 'torn' then
  return redis.error_reply('NOTREADY the generation is not served')
end
local ranking = KEYS[2]
local read = { unpack(state, 3, 9) }
read[8] = redis.call('HLEN', KEYS[3]) > 0 and redis.call('HGET', KEYS[4], 'as_of')
read[9] = redis.call('ZCARD', ranking)
