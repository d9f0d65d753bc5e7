-- Finds a player's accepted answer. It is a script because those share round
-- trips: of a hundred right answers all but one look for theirs at once.
-- KEYS  1 answers (hash)
-- ARGV  1 question|player
-- Returns the record (JSON), nil where there is none.
return redis.call('HGET', KEYS[1], ARGV[1])
