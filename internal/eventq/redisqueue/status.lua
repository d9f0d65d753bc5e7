-- Reads the state of a game.
-- KEYS  1 queue (list), 2 game (hash), 3 due (zset)
-- ARGV  1 game
-- Returns {the hash as a list, when the oldest item was queued or '', when the game
-- is due or 0}.
local oldest = string.match(redis.call('LINDEX', KEYS[1], 0) or '', '\n(%d+)') or ''
local due = redis.call('ZSCORE', KEYS[3], ARGV[1]) or 0
return {redis.call('HGETALL', KEYS[2]), oldest, tonumber(due)}
