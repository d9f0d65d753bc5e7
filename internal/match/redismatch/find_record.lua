-- Returns a player's accepted answer. It is a script because the client sends
-- concurrent scripts in one round trip. In a buzzer match, each right answer that
-- was not the first makes this call, to learn whether it was accepted before.
-- KEYS  1 answers (hash)
-- ARGV  1 question|player
-- Returns the record (JSON); nil if there is none.
local answers, field = KEYS[1], ARGV[1]
return redis.call('HGET', answers, field)
