-- Reads which games are due.
-- KEYS  1 due (zset)
-- ARGV  1 now (ms), 2 how many at the most
-- Returns {games, when the next of the others is due or 0}.
local games = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
local other = redis.call('ZRANGE', KEYS[1], #games, #games, 'WITHSCORES')
return {games, tonumber(other[2] or 0)}
