-- Finds a player's accepted answer to a question: a script, because those share
-- round trips, and as many ask for it as answer at once.
-- KEYS  1 answers (hash)
-- ARGV  1 field
-- Returns the record (JSON); nil where there is none.
return redis.call('HGET', KEYS[1], ARGV[1])
