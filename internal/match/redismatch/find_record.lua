-- Returns a player's accepted answer. It is a script because scripts share
-- round trips: of a hundred right answers that arrive at the same time,
-- ninety-nine make this call.
-- KEYS  1 answers (hash)
-- ARGV  1 question|player
-- Returns the record (JSON); nil if there is none.
local answers, field = KEYS[1], ARGV[1]
return redis.call('HGET', answers, field)
