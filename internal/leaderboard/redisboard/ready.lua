-- Opens every reading script: checks that the generation is served.
-- KEYS  1 state (hash), 2 ranking (sorted set), 3 parts (hash), 4 meta (hash)
-- ARGV  none of its own: those of the pieces that follow
-- Returns only the error NOTREADY, where no such generation is served. Otherwise it leaves ranking, and read:
--       epoch, pos, row, day, first, as_of (epoch ms, nil: none), total.
local state = redis.call('HMGET', KEYS[1], 'ready', 'epoch', 'pos', 'row', 'day', 'first')
if state[1] ~= '1' then
  return redis.error_reply('NOTREADY the generation is not served')
end
local ranking = KEYS[2]
local read = { state[2], state[3], state[4], state[5], state[6],
  redis.call('HGET', KEYS[4], 'as_of'), redis.call('ZCARD', ranking) }
