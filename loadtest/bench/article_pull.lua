-- The consumer of the published article's design, which the benchmark compares with the
-- behaviour queue. It takes the oldest events of a game.
-- KEYS 1: the list
-- ARGV 1: how many at the most
-- Returns the events.
local events = redis.call('LRANGE', KEYS[1], 0, ARGV[1] - 1)
redis.call('LTRIM', KEYS[1], ARGV[1], -1)
return events
