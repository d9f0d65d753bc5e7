-- Reads which games are due.
-- KEYS  1 due (zset: game by when it is due, ms)
-- ARGV  1 now (ms), 2 the largest number of games
-- Returns {games, when the next of the other games is due or 0}.
local games = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
local other = redis.call('ZRANGE', KEYS[1], #games, #games, 'WITHSCORES')
return {games, tonumber(other[2] or 0)}
