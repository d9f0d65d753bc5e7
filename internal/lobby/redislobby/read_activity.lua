-- Says what a player is busy with, and whether that is a match still forming.
-- KEYS  1 busy (string), 2 pairings (hash), 3 last duel (string)
-- ARGV  none
-- Returns {what, '' for nothing; 1 where its match is to be created, else 0;
-- the last duel, '' where it is settled}
local busy = redis.call('GET', KEYS[1]) or ''
local match = string.match(busy, '^match:(.*)')
return {busy, match and redis.call('HEXISTS', KEYS[2], match) or 0, redis.call('GET', KEYS[3]) or ''}
