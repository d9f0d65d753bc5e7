-- Pauses a game.
-- KEYS  1 game (hash), 2 due (zset)
-- ARGV  1 game, 2 the reason
-- Returns nothing.
redis.call('HSET', KEYS[1], 'paused', ARGV[2])
redis.call('ZREM', KEYS[2], ARGV[1])
